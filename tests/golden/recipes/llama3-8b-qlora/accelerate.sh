python -m accelerate.commands.launch --config_file accelerate.yaml -m fsdpwiz.train plan.json
