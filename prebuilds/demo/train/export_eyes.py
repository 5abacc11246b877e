"""Writes the vision encoder as an mmproj GGUF file for llama.cpp's mtmd."""

import sys

from export import GGUF_PY
from eyes import DEVIATION, EPSILON, MEAN, PATCH, SIDE, WIDTHS


def weights_by_name(eyes):
    """mtmd's tensor names with our weights."""
    named = {"v.patch_embd": eyes.patch, "v.patch_ln": eyes.patch_norm,
             "mm.0": eyes.project_in, "mm.2": eyes.project_out}
    plain = {"v.vision_pos_embed": eyes.positions}
    for number, stage in enumerate(eyes.stages):
        if stage.down:
            named |= {f"v.stage.{number}.down.ln": stage.norm, f"v.stage.{number}.down.conv": stage.down}
        for place, block in enumerate(stage.blocks):
            prefix = f"v.stage.{number}.blk.{place}"
            named |= {f"{prefix}.{part}": getattr(block, part) for part in ("dw", "ln", "pw1", "pw2")}
            plain |= {f"{prefix}.grn.weight": block.grn_weight, f"{prefix}.grn.bias": block.grn_bias}
    for name, module in named.items():
        plain |= {f"{name}.weight": module.weight, f"{name}.bias": module.bias}
    return {name: weight.detach().float().contiguous().numpy().copy() for name, weight in plain.items()}


def export_eyes(eyes, path, gguf_py=GGUF_PY):
    """Matrices and convolutions in F16, the rest in F32."""
    sys.path.insert(0, str(gguf_py))
    import gguf
    writer = gguf.GGUFWriter(str(path), "clip")
    writer.add_name("chasqui demo eyes")
    writer.add_license("mit")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "yasa2")
    writer.add_bool("clip.use_gelu", True)
    for name, value in {"image_size": SIDE, "patch_size": PATCH, "embedding_length": WIDTHS[-1], "block_count": 0,
                        "feed_forward_length": 4 * WIDTHS[-1], "attention.head_count": 1,
                        "projection_dim": eyes.project_out.out_features}.items():
        writer.add_uint32(f"clip.vision.{name}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", EPSILON)
    writer.add_array("clip.vision.image_mean", [MEAN] * 3)
    writer.add_array("clip.vision.image_std", [DEVIATION] * 3)
    for name, weight in weights_by_name(eyes).items():
        wide = weight.ndim > 1 and name != "v.vision_pos_embed"
        writer.add_tensor(name, weight.astype("float16") if wide else weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
