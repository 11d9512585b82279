# Everything that ctest's labels unit, scenario and sim_smoke run: what the sanitizers build.
add_custom_target(checked_programs)

# What tests are built with, beside what everything is. They run but once: whatever the optimiser does beyond this costs more than
# it saves. What they test is built as it is installed.
set(MUSTER_TEST_OPTIONS "$<$<CONFIG:Release>:-O1>")

# muster_precompiled(NAME... [LINK lib...]): src/precompiled/NAME.h, compiled once. Requires: targets that use it are built with the
# same options, and link LINK.
function(muster_precompiled)
  if(NOT MUSTER_PRECOMPILED)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  foreach(name ${ARG_UNPARSED_ARGUMENTS})
    add_library(precompiled_${name} OBJECT ${CMAKE_SOURCE_DIR}/src/precompiled/empty.cc)
    target_precompile_headers(precompiled_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src/precompiled/${name}.h)
    target_link_libraries(precompiled_${name} PRIVATE ${ARG_LINK})
    set_target_properties(precompiled_${name} PROPERTIES CXX_COMPILER_LAUNCHER "${MUSTER_PRECOMPILED_LAUNCHER}")
    if(name MATCHES "_test$")
      target_compile_options(precompiled_${name} PRIVATE ${MUSTER_TEST_OPTIONS})
    endif()
  endforeach()
endfunction()
function(muster_use_precompiled target name)
  if(MUSTER_PRECOMPILED AND name)
    target_precompile_headers(${target} REUSE_FROM precompiled_${name})
  endif()
endfunction()

# muster_folder(NAME [PRECOMPILED header] [TEST_PRECOMPILED header] [LINK lib...]): one library per folder of src/, from its
# sources, and one test program NAME_test from its *_test.cc. Every file is found by its place, so none can be forgotten.
# What tests stand on (testing.cc, faulty_*.cc) is muster_NAME_testing: in no header, where each test would compile all of it again.
# TEST_PRECOMPILED: where it is not the library's with _test.
function(muster_folder name)
  cmake_parse_arguments(ARG "" "PRECOMPILED;TEST_PRECOMPILED" "LINK;TEST_LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(testing ${sources})
  list(FILTER testing INCLUDE REGEX "/(testing|faulty_[a-z]+)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/(testing|faulty_[a-z]+)\\.cc$")
  if(sources)
    add_library(muster_${name} STATIC ${sources})
    target_link_libraries(muster_${name} PUBLIC ${ARG_LINK})
    muster_use_precompiled(muster_${name} "${ARG_PRECOMPILED}")
  else()
    add_library(muster_${name} INTERFACE)
    target_link_libraries(muster_${name} INTERFACE ${ARG_LINK})
  endif()
  set(support)
  if(testing AND MUSTER_TESTS)
    set(support muster_${name}_testing)
    add_library(muster_${name}_testing STATIC ${testing})
    target_compile_options(muster_${name}_testing PRIVATE ${MUSTER_TEST_OPTIONS})
    target_link_libraries(muster_${name}_testing PUBLIC muster_${name} ${ARG_TEST_LINK})
    if(ARG_PRECOMPILED)
      muster_use_precompiled(muster_${name}_testing ${ARG_PRECOMPILED}_test)
    endif()
  endif()
  if(tests AND MUSTER_TESTS)
    add_executable(${name}_test ${tests})
    target_compile_options(${name}_test PRIVATE ${MUSTER_TEST_OPTIONS})
    if(ARG_TEST_PRECOMPILED)
      muster_use_precompiled(${name}_test ${ARG_TEST_PRECOMPILED})
    elseif(ARG_PRECOMPILED)
      muster_use_precompiled(${name}_test ${ARG_PRECOMPILED}_test)
    endif()
    target_link_libraries(${name}_test PRIVATE ${support} muster_${name} ${ARG_TEST_LINK} gtest_main gtest)
    add_dependencies(checked_programs ${name}_test)
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES LABELS unit
      ENVIRONMENT "MUSTER_SOURCE_DIR=${CMAKE_SOURCE_DIR};TZ=UTC")
  endif()
endfunction()

# muster_program(NAME [PRECOMPILED header] FROM file.cc... LINK lib...): a binary in bin/ with libstdc++ linked statically, but for sanitizers: they
# must see what is thrown, or what its frames leave on the stack looks poisoned.
function(muster_program name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "FROM;LINK" ${ARGN})
  add_executable(${name} ${ARG_FROM})
  muster_use_precompiled(${name} "${ARG_PRECOMPILED}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# muster_schema(NAME file...): C++ from schema/FILE.capnp, as a library whose headers are <schema/FILE.capnp.h>.
function(muster_schema name)
  set(outputs)
  set(headers)
  foreach(file ${ARGN})
    set(out ${CMAKE_BINARY_DIR}/generated/schema/${file}.capnp)
    list(APPEND inputs ${CMAKE_SOURCE_DIR}/schema/${file}.capnp)
    list(APPEND outputs ${out}.c++)
    list(APPEND headers ${out}.h)
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/schema)
  add_custom_command(OUTPUT ${outputs} ${headers} DEPENDS ${inputs}
    COMMAND ${CAPNP_TOOL} compile --src-prefix=${CMAKE_SOURCE_DIR}/schema -I/usr/include
            -oc++:${CMAKE_BINARY_DIR}/generated/schema ${inputs})
  add_library(${name} STATIC ${outputs} ${headers})
  target_compile_options(${name} PRIVATE -w)
  target_include_directories(${name} SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PUBLIC static_capnp_rpc)
endfunction()

# muster_embedded_services(TARGET): the Python package that service jobs run, as bytes in that library.
function(muster_embedded_services target)
  set(out ${CMAKE_BINARY_DIR}/generated/service_archive.cc)
  file(GLOB inputs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/muster/*.py ${CMAKE_SOURCE_DIR}/python/muster/core/*.py ${CMAKE_SOURCE_DIR}/python/muster/services/*.py)
  add_custom_command(OUTPUT ${out} DEPENDS ${inputs} ${CMAKE_SOURCE_DIR}/tools/embed_services.py
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/embed_services.py ${CMAKE_SOURCE_DIR}/python ${out})
  target_sources(${target} PRIVATE ${out})
endfunction()
