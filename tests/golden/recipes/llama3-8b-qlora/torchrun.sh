ACCELERATE_MIXED_PRECISION=bf16 \
  python -m fsdpwiz.train plan.json
