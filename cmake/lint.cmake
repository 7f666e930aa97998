# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Checks of the source tree as tests with the label lint. If a tool is not installed, its test is
# skipped (77), and without a repository what needs git. EARLY: a quick one, which `make test` runs as well, before all other tests.
function(ruse_lint name)
  cmake_parse_arguments(L "EARLY" "TIMEOUT;NEEDS;COST" "COMMAND" ${ARGN})
  # No semicolon in the script: CMake would split it there.
  if(L_NEEDS STREQUAL git)
    set(L_COMMAND sh -c "git rev-parse HEAD >/dev/null 2>&1 || exit 77 && \"$@\"" lint ${L_COMMAND})
  elseif(L_NEEDS)
    set(L_COMMAND sh -c "command -v ${L_NEEDS} >/dev/null || exit 77 && \"$@\"" lint ${L_COMMAND})
  endif()
  if(NOT L_TIMEOUT)
    set(L_TIMEOUT 300)
  endif()
  add_test(NAME lint/${name} COMMAND ${L_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(lint/${name} PROPERTIES LABELS lint TIMEOUT ${L_TIMEOUT}
    SKIP_RETURN_CODE 77)
  if(L_EARLY)
    set_tests_properties(lint/${name} PROPERTIES LABELS "lint;early" COST 3000)
  endif()
  if(L_COST)
    set_tests_properties(lint/${name} PROPERTIES COST ${L_COST})
  endif()
endfunction()

ruse_lint(layers EARLY NEEDS python3 COMMAND tools/layers)
ruse_lint(objects EARLY NEEDS python3 COMMAND tools/layers --objects ${CMAKE_BINARY_DIR})
ruse_lint(sizes EARLY NEEDS python3 COMMAND tools/sizes)
ruse_lint(names EARLY NEEDS python3 COMMAND tools/names)
ruse_lint(dead EARLY NEEDS python3 COMMAND tools/dead)
ruse_lint(spdx EARLY NEEDS git COMMAND tools/spdx)
ruse_lint(version EARLY NEEDS git COMMAND tools/version --check)
ruse_lint(dist NEEDS git COMMAND tests/package/dist.sh)
ruse_lint(install COMMAND tests/package/install.sh ${CMAKE_BINARY_DIR})
ruse_lint(completion EARLY NEEDS python3 COMMAND tests/package/completion.py ${CMAKE_BINARY_DIR})
ruse_lint(options EARLY NEEDS python3 COMMAND tests/package/options.py ${CMAKE_BINARY_DIR})
ruse_lint(debian EARLY COMMAND tests/package/debian.sh)
ruse_lint(like EARLY NEEDS python3 COMMAND tools/like)
ruse_lint(like-faults EARLY NEEDS python3 COMMAND tests/package/like.py)
ruse_lint(vendor NEEDS git COMMAND tests/package/vendor.sh)
ruse_lint(again NEEDS python3 COMMAND tests/package/again.sh)
ruse_lint(words EARLY NEEDS git COMMAND tools/words)
ruse_lint(documents EARLY NEEDS git COMMAND tools/documents)
ruse_lint(explain EARLY NEEDS python3 COMMAND tools/explain-doc --check)
ruse_lint(format EARLY NEEDS clang-format COMMAND
  sh -c "passed=$(scripts/cache passed ${CMAKE_BINARY_DIR}) && \
    find src tests doc/platform examples -name '*.[ch]' -print0 | xargs -0 tools/format --passed \"$passed\"")
ruse_lint(shellcheck NEEDS shellcheck COMMAND
  sh -c "git ls-files -z | xargs -0 grep -lIE '^#!/bin/(ba)?sh' | xargs -d '\\n' shellcheck -S info")
ruse_lint(codespell EARLY NEEDS codespell COMMAND
  sh -c "git ls-files -z | grep -zvE '^(LICENSES/|linux-source|tests/.*corpus/)' | xargs -0 codespell -I tools/codespell.ignore")
# These take what interop/rxe leaves of the processors, and start early.
ruse_lint(cppcheck NEEDS cppcheck TIMEOUT 1200 COST 1200 COMMAND nice -n 19 tools/analyse cppcheck ${CMAKE_BINARY_DIR})
ruse_lint(clang-tidy NEEDS clang-tidy TIMEOUT 2400 COST 1500 COMMAND
  nice -n 19 tools/analyse clang-tidy ${CMAKE_BINARY_DIR})
ruse_lint(analyse NEEDS cppcheck COMMAND tests/package/analyse.sh)
