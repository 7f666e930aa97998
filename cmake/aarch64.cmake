# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Toolchain file: builds for arm64 with Debian's cross compiler, against the libraries below
# RUSE_SYSROOT, and runs the tests under qemu-user. tests/distro/arm64 makes the sysroot.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(RUSE_SYSROOT "" CACHE PATH "Root directory with the libraries and headers for arm64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUSE_SYSROOT)
if(NOT RUSE_SYSROOT)
  message(FATAL_ERROR "set RUSE_SYSROOT to a directory with the arm64 libraries; tests/distro/arm64 makes one")
endif()
set(CMAKE_SYSROOT ${RUSE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${RUSE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${RUSE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${RUSE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${RUSE_SYSROOT}/usr/share/pkgconfig)
# The libraries' own libraries: the cross linker searches them below the root of this machine.
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT
  " -Wl,-rpath-link,${RUSE_SYSROOT}/usr/lib/aarch64-linux-gnu:${RUSE_SYSROOT}/lib/aarch64-linux-gnu")
string(APPEND CMAKE_SHARED_LINKER_FLAGS_INIT
  " -Wl,-rpath-link,${RUSE_SYSROOT}/usr/lib/aarch64-linux-gnu:${RUSE_SYSROOT}/lib/aarch64-linux-gnu")

find_program(RUSE_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(RUSE_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${RUSE_QEMU} -L ${RUSE_SYSROOT})
endif()
