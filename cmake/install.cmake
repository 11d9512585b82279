# The programs, and the Slurm names as links to `muster`.
include(GNUInstallDirs)
# Before anything is written: a Slurm that is there keeps its commands.
install(CODE "
  foreach(name ${MUSTER_SLURM_COMMANDS})
    set(link \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\${name})
    set(target)
    if(IS_SYMLINK \${link})
      file(READ_SYMLINK \${link} target)
    endif()
    if((EXISTS \${link} OR IS_SYMLINK \${link}) AND NOT target STREQUAL muster)
      message(FATAL_ERROR \"\${link} is another program's: move it, or choose another PREFIX\")
    endif()
  endforeach()")
install(TARGETS muster musterd muster-agent muster-stepd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "
  foreach(name ${MUSTER_SLURM_COMMANDS})
    set(link \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\${name})
    file(CREATE_LINK muster \$ENV{DESTDIR}\${link} SYMBOLIC)
    # By this list `make uninstall` goes, as by what install() itself writes.
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${link})
  endforeach()")
