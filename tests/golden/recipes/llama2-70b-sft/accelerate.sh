TORCH_FR_BUFFER_SIZE=2000 \
  python -m accelerate.commands.launch --config_file accelerate.yaml --machine_rank 0 --main_process_ip MAIN_ADDRESS --main_process_port 29500 --rdzv_backend static --same_network -m fsdpwiz.train plan.json
