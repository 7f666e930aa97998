# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A unit test takes milliseconds; the limits, in seconds, are for a busy machine.
set(RUSE_UNIT_TIMEOUT 120)
if(RUSE_SANITIZE)
  set(RUSE_UNIT_TIMEOUT 600)
endif()
# Variables that change the outcome of unit tests, which read the environment by themselves: the caller's are not theirs
# (for other tests see tests/clean).
set(unset_caller RUSE_NO_CMA=unset: RUSE_QUEUE_MEMORY=unset: RUSE_SHAKE=unset: RUSE_LOG=unset: RUSE_DIR=unset:)

# ruse_room(NAME [DEPS rooms...] [LIBS libraries...] [TEST_LIBS libraries...]): a static library
# of the folder's *.c files, and an executable and a ctest for each test-*.c in it (cmocka). A
# testing.c holds what the tests share, also with tests of other rooms: a library NAME_testing.
function(ruse_room name)
  cmake_parse_arguments(R "" "" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  file(GLOB srcs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test-*.c)
  if(tests)
    list(REMOVE_ITEM srcs ${tests})
  endif()
  set(testing ${CMAKE_CURRENT_SOURCE_DIR}/testing.c)
  list(REMOVE_ITEM srcs ${testing})
  string(REPLACE "/" "_" target ${name})
  if(srcs)
    add_library(${target} STATIC ${srcs})
    target_link_libraries(${target} PUBLIC ${R_DEPS} ${R_LIBS})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${R_DEPS} ${R_LIBS})
  endif()
  set(testing_libs ${R_TEST_LIBS} cmocka)
  if(EXISTS ${testing})
    add_library(${target}_testing STATIC EXCLUDE_FROM_ALL ${testing})
    target_link_libraries(${target}_testing PUBLIC ${target} cmocka)
    list(PREPEND testing_libs ${target}_testing)
  endif()
  if(RUSE_TESTS)
    foreach(t ${tests})
      get_filename_component(n ${t} NAME_WE)
      set(exe ${n}-${target})
      add_executable(${exe} ${t})
      target_link_libraries(${exe} PRIVATE ${target} ${testing_libs})
      add_test(NAME unit/${name}/${n} COMMAND ${exe})
      set_tests_properties(unit/${name}/${n} PROPERTIES LABELS unit TIMEOUT ${RUSE_UNIT_TIMEOUT}
        ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp" ENVIRONMENT_MODIFICATION "${unset_caller}")
    endforeach()
  endif()
endfunction()
