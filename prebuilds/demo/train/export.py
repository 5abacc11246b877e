"""Writes the trained model as a GGUF file for llama.cpp."""

import sys
from pathlib import Path

from tokenizer import CONTROL, TAGS

HERE = Path(__file__).resolve().parent
TEMPLATE = HERE / "chat_template.jinja"
GGUF_PY = HERE.parents[2] / "vendor" / "llama.cpp" / "gguf-py"


def weights_by_name(model):
    """llama.cpp's tensor names with our weights; queries and keys keep their order, since rotate() pairs neighbours."""
    width = model.shape.width
    named = {"token_embd": model.embedding.weight, "output_norm": model.norm.weight}
    for number, block in enumerate(model.blocks):
        query, key, value = block.qkv.weight.split(width)
        gate, up = block.gate_up.weight.chunk(2)
        parts = {
            "attn_norm": block.attention_norm.weight, "attn_q": query, "attn_k": key, "attn_v": value,
            "attn_output": block.out.weight, "ffn_norm": block.feed_forward_norm.weight, "ffn_gate": gate, "ffn_up": up,
            "ffn_down": block.down.weight,
        }
        named |= {f"blk.{number}.{part}": weight for part, weight in parts.items()}
    return {f"{name}.weight": weight.detach().cpu().float().numpy().copy() for name, weight in named.items()}


def add_metadata(writer, gguf, shape, tokenizer):
    writer.add_name("chasqui demo")
    writer.add_description("The demo model of chasqui, trained on generated text only.")
    writer.add_license("mit")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_rope_dimension_count(shape.head_size)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_vocab_size(shape.vocabulary)

    kinds = dict.fromkeys(CONTROL, gguf.TokenType.CONTROL) | dict.fromkeys(TAGS, gguf.TokenType.USER_DEFINED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokenizer.tokens)
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in tokenizer.tokens])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer.merges])
    writer.add_bos_token_id(tokenizer.ids["<|endoftext|>"])
    writer.add_pad_token_id(tokenizer.ids["<|endoftext|>"])
    writer.add_eos_token_id(tokenizer.ids["<|im_end|>"])
    writer.add_eot_token_id(tokenizer.ids["<|im_end|>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE.read_text())


def export(model, tokenizer, path, matrix_type="Q8_0", gguf_py=GGUF_PY):
    """Matrices in `matrix_type` (Q8_0 or F16), norms in F32."""
    sys.path.insert(0, str(gguf_py))
    import gguf
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{matrix_type}"])
    add_metadata(writer, gguf, model.shape, tokenizer)
    for name, weight in weights_by_name(model).items():
        kind = gguf.GGMLQuantizationType[matrix_type if weight.ndim == 2 else "F32"]
        writer.add_tensor(name, gguf.quants.quantize(weight, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
