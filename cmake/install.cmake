# The programs, and the Slurm names as links to `muster`.
include(GNUInstallDirs)
install(TARGETS muster musterd muster-agent muster-stepd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(name sbatch srun salloc squeue sinfo scancel scontrol sacct)
  install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -E create_symlink muster \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${name})")
endforeach()
