// SPDX-License-Identifier: MIT
/* omp.h - what a parser of C needs of omp.h; nothing is compiled with this */
#ifndef CONVLAB_PARSED_OMP_H
#define CONVLAB_PARSED_OMP_H

int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
int omp_get_num_procs(void);
int omp_in_parallel(void);
double omp_get_wtime(void);

#endif
