"""Answer a few of the evaluation questions with a model, greedily, and print the answers.

python scripts/sample_answers.py MODEL [--questions FILE] [--count N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import textwrap
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "recipes" / "data" / "python-docs-qa-eval.jsonl"
ANSWER_TOKENS = 56
WIDTH = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a model")
    parser.add_argument(
        "--questions", type=Path, default=DATA, help="chat rows; their first message is asked"
    )
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write {question: answer} there")
    options = parser.parse_args()
    questions = read_questions(options.questions, options.count)
    answers = dict(zip(questions, answer(options.model, questions), strict=True))
    for question, text in answers.items():
        print(f"  Q  {question}")
        print(textwrap.indent(textwrap.fill(text, WIDTH), "     ").replace("     ", "  A  ", 1), flush=True)
    if options.json:
        options.json.write_text(json.dumps(answers, indent=2, ensure_ascii=False), encoding="utf-8")


def read_questions(path: Path, count: int) -> list[str]:
    """The first `count` questions of a file of chat rows."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [row["messages"][0]["content"] for row in rows][:count]


def answer(model_path: str, questions: list[str]) -> list[str]:
    """The model's greedy answers of at most ANSWER_TOKENS tokens, on a GPU where there is one."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(model_path, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32).to(device).eval()
    chats = [[{"role": "user", "content": question}] for question in questions]
    inputs = tokenizer.apply_chat_template(
        chats, add_generation_prompt=True, padding=True, return_tensors="pt", return_dict=True
    ).to(device)
    output = model.generate(
        **inputs, max_new_tokens=ANSWER_TOKENS, do_sample=False, pad_token_id=tokenizer.pad_token_id
    )
    new_tokens = output[:, inputs["input_ids"].shape[1] :]
    return [str(text).strip() for text in tokenizer.batch_decode(new_tokens, skip_special_tokens=True)]


if __name__ == "__main__":
    os.environ.update(TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1", HF_HUB_DISABLE_PROGRESS_BARS="1")
    main()
