from collections.abc import Sequence

def parallel_region_threads() -> int: ...
def available_isas() -> list[str]: ...
def kv_shape(layers: int, blocks: int, block_size: int, kv_heads: int, head_dim: int, type_name: str) -> KVShape: ...

class KVShape:
    @property
    def block_bytes(self) -> int: ...

class Batch:
    query_pointers: Sequence[int]
    table_pointers: Sequence[int]
    table_ids: Sequence[int]
    kv_lengths: Sequence[int]
    group_blocks: Sequence[int]
    group_pointers: Sequence[int]
    group_rows: Sequence[int]

class Attention:
    def __init__(self, shape: KVShape, isa: str) -> None: ...
    def plan(self, batch: Batch, heads: int, share: bool) -> None: ...
    def write_kv(self, layer: int, keys: int, values: int) -> None: ...
    def run(
        self, layer: int, query: int, output: int, heads: int, scale: float, window: int, soft_cap: float
    ) -> None: ...
    def copy_slots(self, source: int, target: int, tokens: int) -> None: ...
    def fill_bytes(self, value: int) -> None: ...

class DecoderShape:
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied: bool
    qk_norm: bool
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    norm_eps: float
    attention_factor: float
    windows: Sequence[int]
    type: str

class Decoder:
    def __init__(self, shape: DecoderShape, frequencies: Sequence[float], isa: str) -> None: ...
    def set_weights(self, name: str, data: int, rows: int, columns: int) -> None: ...
    def check_complete(self) -> None: ...
    def forward(self, token_ids: int, attention: Attention, hidden: int) -> None: ...
    def logits(self, hidden: int, rows: int, logits: int) -> None: ...
