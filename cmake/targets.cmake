# Everything that ctest's labels unit, scenario and sim_smoke run: what the sanitizers build.
add_custom_target(checked_programs)

# How tests are compiled, beside how everything is. They run once: what the optimiser would save is less than it costs. What they
# test is compiled as it is installed.
set(MUSTER_TEST_OPTIONS "$<$<CONFIG:Release>:-O0;-g0;-fno-stack-protector;-U_FORTIFY_SOURCE;-fcf-protection=none>")

# muster_precompiled(NAME... [LINK lib...]): src/precompiled/NAME.h, compiled once. Requires: targets that use it are built with
# the same options, and link LINK.
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

# muster_use_unity(TARGET n): n of its sources are compiled at once; empty: each alone.
function(muster_use_unity target batch)
  if(MUSTER_UNITY AND batch)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()

# muster_link_quickly(TARGET): tests are linked by gold where it is: in half of the time, for programs that are thrown away.
find_program(MUSTER_GOLD ld.gold)
function(muster_link_quickly target)
  if(MUSTER_GOLD AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
endfunction()

# muster_folder(NAME [SIMULATED] [PRECOMPILED header] [TEST_PRECOMPILED header] [UNITY n] [TEST_UNITY n] [ALONE file...] [LINK lib...]): one library per folder of src/, from its
# sources, and one test program NAME_test from its *_test.cc. Every file is found by its place, so none can be forgotten.
# What tests stand on (testing.cc, faulty_*.cc) is muster_NAME_testing: in no header, where each test would compile all of it again.
# SIMULATED: the simulator runs on what tests stand on here, which is optimised like all that it runs. TEST_PRECOMPILED: where it is not model_test. UNITY n: n sources are compiled at
# once, which instantiates what they share once and halves the time; they must not define the same name in an anonymous namespace. The
# sanitizers' presets compile each alone, and so tell what a source forgets to include. TEST_UNITY n: the same of the tests. ALONE file.cc...:
# sources and tests that cannot share a compilation.
function(muster_folder name)
  cmake_parse_arguments(ARG "SIMULATED" "PRECOMPILED;TEST_PRECOMPILED;UNITY;TEST_UNITY" "ALONE;LINK;TEST_LINK" ${ARGN})
  list(TRANSFORM ARG_ALONE PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/${name}/)
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
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
    muster_use_unity(muster_${name} "${ARG_UNITY}")
    set_property(GLOBAL APPEND PROPERTY MUSTER_FAST_LIBRARIES muster_${name})
    muster_use_precompiled(muster_${name} "${ARG_PRECOMPILED}")
  else()
    add_library(muster_${name} INTERFACE)
    target_link_libraries(muster_${name} INTERFACE ${ARG_LINK})
  endif()
  set(support)
  if(testing AND MUSTER_TESTS)
    set(support muster_${name}_testing)
    add_library(muster_${name}_testing STATIC ${testing})
    target_link_libraries(muster_${name}_testing PUBLIC muster_${name} ${ARG_TEST_LINK})
    if(ARG_SIMULATED)
      muster_use_precompiled(muster_${name}_testing "${ARG_PRECOMPILED}")
    else()
      target_compile_options(muster_${name}_testing PRIVATE ${MUSTER_TEST_OPTIONS})
      if(ARG_PRECOMPILED)
        muster_use_precompiled(muster_${name}_testing model_test)
      endif()
    endif()
  endif()
  if(tests AND MUSTER_TESTS)
    add_executable(${name}_test ${tests})
    muster_use_unity(${name}_test "${ARG_TEST_UNITY}")
    target_compile_options(${name}_test PRIVATE ${MUSTER_TEST_OPTIONS})
    if(ARG_TEST_PRECOMPILED)
      muster_use_precompiled(${name}_test ${ARG_TEST_PRECOMPILED})
    elseif(ARG_PRECOMPILED)
      muster_use_precompiled(${name}_test model_test)
    endif()
    target_link_libraries(${name}_test PRIVATE ${support} muster_${name} ${ARG_TEST_LINK} gtest_main gtest)
    muster_link_quickly(${name}_test)
    add_dependencies(checked_programs ${name}_test)
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES LABELS unit
      ENVIRONMENT "MUSTER_SOURCE_DIR=${CMAKE_SOURCE_DIR};TZ=UTC")
  endif()
endfunction()

# muster_test(NAME [PRECOMPILED header] [LABEL label] [OPTIMISED] FROM file.cc... LINK lib...): a test program outside of src/.
# LABEL: unit, unless given; those that are not `slow` are built for the sanitizers, too. OPTIMISED: it works for long itself.
function(muster_test name)
  cmake_parse_arguments(ARG "OPTIMISED" "PRECOMPILED;LABEL" "FROM;LINK" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_executable(${name} ${ARG_FROM})
  if(NOT ARG_OPTIMISED)
    target_compile_options(${name} PRIVATE ${MUSTER_TEST_OPTIONS})
  endif()
  muster_use_precompiled(${name} "${ARG_PRECOMPILED}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} gtest_main gtest)
  muster_link_quickly(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} ENVIRONMENT "MUSTER_SOURCE_DIR=${CMAKE_SOURCE_DIR};TZ=UTC")
  if(NOT ARG_LABEL STREQUAL "slow")
    add_dependencies(checked_programs ${name})
  endif()
endfunction()

# muster_program(NAME [FAST] [PRECOMPILED header] [UNITY n] FROM file.cc... LINK lib...): a binary in bin/ with libstdc++ linked statically, but for sanitizers:
# they must see what is thrown, or what its frames leave on the stack looks poisoned.
# FAST: of a function that several sources instantiate, the linker takes the first that it meets, and a copy from a source that only tests use, which is
# not optimised, would serve all: the libraries that are optimised come before all others.
function(muster_program name)
  cmake_parse_arguments(ARG "FAST" "PRECOMPILED;UNITY" "FROM;LINK" ${ARGN})
  add_executable(${name} ${ARG_FROM})
  muster_use_unity(${name} "${ARG_UNITY}")
  muster_use_precompiled(${name} "${ARG_PRECOMPILED}")
  if(ARG_FAST)
    get_property(fast GLOBAL PROPERTY MUSTER_FAST_LIBRARIES)
    list(REVERSE fast)  # the highest layer first, as each stands on those below it
    target_link_libraries(${name} PRIVATE ${fast})
  endif()
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
