ACCELERATE_MIXED_PRECISION=bf16 \
  OMP_NUM_THREADS=8 \
  python -m fsdpwiz.train plan.json
