# The programs, and the Slurm names as links to `muster`.
include(GNUInstallDirs)
install(TARGETS muster musterd muster-agent muster-stepd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(name sbatch srun salloc squeue sinfo scancel scontrol sacct)
  # Listed in install_manifest.txt, by which `make uninstall` goes, as what install() itself writes.
  install(CODE "
    set(link \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${name})
    execute_process(COMMAND ${CMAKE_COMMAND} -E create_symlink muster \$ENV{DESTDIR}\${link})
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${link})")
endforeach()
