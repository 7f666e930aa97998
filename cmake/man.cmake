# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Man pages by rst2man, if it is installed; `make install` installs it first.
find_program(RST2MAN NAMES rst2man rst2man.py)
if(RST2MAN)
  set(pages "")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/doc/man/*.rst)
  foreach(source ${sources})
    get_filename_component(page ${source} NAME_WLE)
    string(REGEX REPLACE ".*\\.([0-9])$" "\\1" section ${page})
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/${page}
      COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DOUT=${CMAKE_BINARY_DIR}/man/${page}.rst
      -DVERSION=${PROJECT_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/man-version.cmake
      COMMAND ${RST2MAN} --halt=warning ${CMAKE_BINARY_DIR}/man/${page}.rst
      ${CMAKE_BINARY_DIR}/man/${page}
      DEPENDS ${source} ${CMAKE_SOURCE_DIR}/cmake/man-version.cmake ${CMAKE_SOURCE_DIR}/CMakeLists.txt
      VERBATIM)
    list(APPEND pages ${CMAKE_BINARY_DIR}/man/${page})
    install(FILES ${CMAKE_BINARY_DIR}/man/${page}
      DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
  add_custom_target(man ALL DEPENDS ${pages})
endif()
