ACCELERATE_USE_CPU=true \
  ACCELERATE_TORCH_DEVICE=cpu \
  GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=1073741824 \
  TORCH_FR_BUFFER_SIZE=2000 \
  OMP_NUM_THREADS=4 \
  python -m accelerate.commands.launch --config_file accelerate.yaml --main_process_port 0 -m fsdpwiz.train plan.json
