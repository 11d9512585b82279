# The libraries that Muster is built from, all of them Debian packages (tools/setup.sh installs them).
# capnp, kj, sqlite, soci, fmt and libstdc++ are linked statically: a client that makes one call then starts in a
# third of the time. glibc stays dynamic, because user look-ups go through NSS.
# Debian's own interpreter: it is the one that sees Debian's python3-* packages.
set(Python3_EXECUTABLE /usr/bin/python3)
find_program(CAPNP_TOOL capnp REQUIRED)
find_package(Threads REQUIRED)

find_path(EXPECTED_INCLUDE_DIR tl/expected.hpp REQUIRED)

function(muster_static_library name file)
  find_library(${name}_FILE ${file} REQUIRED)
  add_library(${name} STATIC IMPORTED)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${${name}_FILE})
endfunction()

muster_static_library(static_kj libkj.a)
muster_static_library(static_kj_async libkj-async.a)
muster_static_library(static_capnp libcapnp.a)
muster_static_library(static_capnp_rpc libcapnp-rpc.a)
muster_static_library(static_sqlite libsqlite3.a)
muster_static_library(static_soci_core libsoci_core.a)
muster_static_library(static_soci_sqlite libsoci_sqlite3.a)
muster_static_library(static_crypto libcrypto.a)
muster_static_library(static_yaml libyaml-cpp.a)
muster_static_library(static_jemalloc libjemalloc_pic.a)
muster_static_library(static_zstd libzstd.a)
muster_static_library(static_re2 libre2.a)
muster_static_library(static_kj_http libkj-http.a)
find_library(HWLOC_FILE hwloc REQUIRED)
find_library(ARCHIVE_FILE archive REQUIRED)

# The allocator of programs whose threads hand memory to each other; the sanitizers bring their own.
add_library(muster_allocator INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_link_libraries(muster_allocator INTERFACE static_jemalloc ${CMAKE_DL_LIBS} Threads::Threads m)
endif()

target_link_libraries(static_kj_async INTERFACE static_kj Threads::Threads)
target_link_libraries(static_capnp INTERFACE static_kj)
target_link_libraries(static_kj_http INTERFACE static_kj_async)
target_link_libraries(static_capnp_rpc INTERFACE static_capnp static_kj_async)
target_link_libraries(static_soci_sqlite INTERFACE static_soci_core static_sqlite ${CMAKE_DL_LIBS} Threads::Threads)
