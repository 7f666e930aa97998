# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cmake -DSOURCE=PAGE.rst -DOUT=FILE -DVERSION=VERSION -P man-version.cmake: copies a manual page and
# adds the version, which the pages show in the last line.
file(READ ${SOURCE} text)
string(REPLACE "\n:Manual group: ruse\n" "\n:Manual group: ruse\n:Version: ruse ${VERSION}\n"
  text "${text}")
if(NOT text MATCHES ":Version: ")
  message(FATAL_ERROR "${SOURCE}: no line ':Manual group: ruse'")
endif()
file(WRITE ${OUT} "${text}")
