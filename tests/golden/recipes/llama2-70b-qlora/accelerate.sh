TORCH_FR_BUFFER_SIZE=2000 \
  python -m accelerate.commands.launch --config_file accelerate.yaml --main_process_port 0 -m fsdpwiz.train plan.json
