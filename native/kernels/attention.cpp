// Flash attention over cells in F16, or in a quantised format that is converted to F16 first.
//
// There is a row for each token and head. The rows that share keys and values form a group. A tile is up to 64 rows of a group
// and is computed with 64 cells at a time:
//
//   keys -- transpose --> 64 columns -- times queries --> scores -- softmax_step --> weights -- times values --> results
//
// The cells are divided into chunks of a fixed size. Each chunk gives a row a partial result, and the partial results are added
// in the order of the chunks. Therefore the bits of a row do not depend on the number of threads, on the other rows or on the
// masked cells. If there are few tiles, threads share their chunks.
#include "attention.h"

#include "attention-lanes.h"
#include "ggml-cpu.h"
#include "ggml.h"

#if defined(GGML_ATTENTION_512) || defined(GGML_ATTENTION_256)

using namespace ggml::cpu::attention;

namespace {

constexpr int64_t kRows  = 64;   // of a tile
constexpr int64_t kChunk = 256;  // cells
constexpr size_t  kLine  = 64;   // bytes of cache

int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

struct Attention {
    const ggml_tensor * result;
    const ggml_tensor *q = result->src[0], *k = result->src[1], *v = result->src[2], *mask = result->src[3], *sinks = result->src[4];
    int64_t width_k = k->ne[0], width_v = v->ne[0];
    int64_t n_tokens = q->ne[1], n_heads = q->ne[2], n_streams = q->ne[3], n_cells = k->ne[1], n_kv_heads = k->ne[2];
    int64_t heads_of_group = n_heads / n_kv_heads;
    int64_t rows_of_group  = n_tokens * heads_of_group;
    int64_t tiles_of_group = parts_of(rows_of_group, kRows);
    int64_t n_tiles        = tiles_of_group * n_kv_heads * n_streams;
    int64_t n_chunks       = parts_of(n_cells, kChunk);

    int64_t n_rows() const { return n_tokens * n_heads * n_streams; }
    // Floats per thread, whole cache lines: queries, scores, values of a chunk and of all chunks, keys and values of the cells,
    // and these in F16.
    int64_t scratch() const { return kRows * (width_k + kCells + 2 * width_v) + kCells * (width_k + width_v) * 3 / 2; }
    int64_t partials() const { return n_rows() * n_chunks * (2 + width_v); }

    // Whether threads share the chunks of a tile. They do for few tiles, and for tiles of few rows with long contexts.
    bool shares_chunks(int n_threads) const {
        const bool few = n_tiles < 2 * n_threads || (rows_of_group <= 16 && n_tiles <= 8 * n_threads);
        return few && n_threads > 1 && n_chunks > 1 && partials() <= (16 << 20);
    }
    size_t work_size(int n_threads) const {
        return kLine + sizeof(float) * (n_threads * scratch() + (shares_chunks(n_threads) ? partials() : 0));
    }

    float option(int i) const {
        float value;
        memcpy(&value, (const float *) result->op_params + i, sizeof value);
        return value;
    }
    float cap() const { return option(2); }
    float scale() const { return cap() != 0 ? option(0) / cap() : option(0); }
    // The factor of the mask for a head (ALiBi).
    float slope(int64_t head) const {
        const float max_bias = option(1);
        if (max_bias <= 0) return 1;
        const int64_t power = int64_t(1) << (int) std::floor(std::log2((double) n_heads));
        return head < power ? powf(powf(2, -max_bias / power), head + 1)
                            : powf(powf(2, -max_bias / 2 / power), 2 * (head - power) + 1);
    }
};

// The position of a row. Rows are numbered group by group.
struct Place {
    int64_t stream, kv_head, token, head;

    Place(const Attention & a, int64_t row) {
        const int64_t group = row / a.rows_of_group, in_group = row % a.rows_of_group;
        stream  = group / a.n_kv_heads;
        kv_head = group % a.n_kv_heads;
        token   = in_group / a.heads_of_group;
        head    = kv_head * a.heads_of_group + in_group % a.heads_of_group;
    }
};

const char * at(const ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3) {
    return (const char *) t->data + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3];
}

// Normalises a row, including its sink, and writes it to the result.
void finish(const Attention & a, const Place & place, Part all, const float * values) {
    float kept = 1;
    if (a.sinks) {
        const float sink = ((const float *) a.sinks->data)[place.head];
        const float most = std::max(all.most, sink);
        kept             = expf(all.most - most);
        all.sum          = fmaf(all.sum, kept, expf(sink - most));
    }
    const float factor = all.sum == 0 ? 0 : kept / all.sum;
    auto * const to = (float *) ((char *) a.result->data +
                                 ((place.stream * a.n_tokens + place.token) * a.n_heads + place.head) * a.result->nb[1]);
    for (int64_t i = 0; i < a.width_v; i += kLanes) {
        store(to + i, times(load(values + i), broadcast(factor)));
    }
}

// Cells in F16. `stride` is the distance between cells and `ahead` that to the next tile's cells, in bytes.
struct Cells {
    const char * first;
    size_t       stride, ahead;
};

void to_halves(const ggml_tensor * from, const char * cell, float * floats, ggml_fp16_t * out) {
    switch (from->type) {
        case GGML_TYPE_Q8_0: return ggml::cpu::attention::to_halves((const block_q8_0 *) cell, out, from->ne[0]);
        case GGML_TYPE_Q4_0: return ggml::cpu::attention::to_halves((const block_q4_0 *) cell, out, from->ne[0]);
        default: break;
    }
    ggml_get_type_traits(from->type)->to_float(cell, floats, from->ne[0]);
    ggml_cpu_fp32_to_fp16(floats, out, from->ne[0]);
}

// Returns n cells in F16: those in memory, or converted to the buffer.
Cells cells_in_halves(const ggml_tensor * from, const char * first, int n, float * floats, ggml_fp16_t * buffer) {
    const size_t stride = from->nb[1], ahead = kCells * stride;
    if (from->type == GGML_TYPE_F16) return {first, stride, ahead};
    const size_t size = ggml_row_size(from->type, from->ne[0]);
    for (int i = 0; i < n; ++i) {
        const char * const cell = first + i * stride;
        for (size_t at = 0; at < size; at += kLine) _mm_prefetch(cell + ahead + at, _MM_HINT_T1);
        to_halves(from, cell, floats, buffer + i * from->ne[0]);
    }
    return {(const char *) buffer, from->ne[0] * sizeof(ggml_fp16_t), 0};
}

// A tile and this thread's scratch memory.
class Tile {
  public:
    Tile(const Attention & a, float * scratch)
        : a_(a), queries_(scratch), scores_(queries_ + kRows * a.width_k), values_(scores_ + kRows * kCells),
          all_values_(values_ + kRows * a.width_v), cell_keys_(all_values_ + kRows * a.width_v),
          cell_values_(cell_keys_ + kCells * a.width_k),
          key_halves_((ggml_fp16_t *) (cell_values_ + kCells * a.width_v)),
          value_halves_(key_halves_ + kCells * a.width_k), cap_(a.cap()) {}

    void begin(int64_t tile) {
        const int64_t group = tile / a_.tiles_of_group, first = tile % a_.tiles_of_group * kRows;
        n_                  = std::min(kRows, a_.rows_of_group - first);
        first_              = group * a_.rows_of_group + first;
        const Place place(a_, first_);
        keys_            = at(a_.k, 0, place.kv_head, place.stream / (a_.n_streams / a_.k->ne[3]));
        values_of_cells_ = at(a_.v, 0, place.kv_head, place.stream / (a_.n_streams / a_.v->ne[3]));
        for (int64_t i = 0; i < n_; ++i) begin_row(i, Place(a_, first_ + i));
        multiply_by(queries_, n_ * a_.width_k, a_.scale());
    }

    void compute(int64_t chunk) {
        for (int64_t i = 0; i < n_; ++i) {
            rows_[i].most = -INFINITY;
            memset(rows_[i].sums, 0, sizeof rows_[i].sums);
        }
        memset(values_, 0, n_ * a_.width_v * sizeof(float));
        const int64_t end = std::min(a_.n_cells, (chunk + 1) * kChunk);
        for (int64_t cell = chunk * kChunk; cell < end; cell += kCells) take((int) std::min<int64_t>(kCells, end - cell), cell);
    }

    void write_parts(int64_t chunk, Part * parts, float * values) const {
        for (int64_t i = 0; i < n_; ++i) {
            const int64_t to = (first_ + i) * a_.n_chunks + chunk;
            parts[to]        = part(i);
            if (parts[to].most != -INFINITY) memcpy(values + to * a_.width_v, values_of(i), a_.width_v * sizeof(float));
        }
    }

    void add_up(int64_t row, const Part * parts, const float * values) const {
        Part all;
        memset(all_values_, 0, a_.width_v * sizeof(float));
        for (int64_t i = row * a_.n_chunks; i < (row + 1) * a_.n_chunks; ++i) {
            add(all, all_values_, parts[i], values + i * a_.width_v, a_.width_v);
        }
        finish(a_, Place(a_, row), all, all_values_);
    }

    void compute_all() {
        Part all[kRows];
        memset(all_values_, 0, n_ * a_.width_v * sizeof(float));
        for (int64_t chunk = 0; chunk < a_.n_chunks; ++chunk) {
            compute(chunk);
            for (int64_t i = 0; i < n_; ++i) add(all[i], all_values_ + i * a_.width_v, part(i), values_of(i), a_.width_v);
        }
        for (int64_t i = 0; i < n_; ++i) finish(a_, Place(a_, first_ + i), all[i], all_values_ + i * a_.width_v);
    }

  private:
    const float * values_of(int64_t i) const { return values_ + i * a_.width_v; }
    Part          part(int64_t i) const { return {rows_[i].most, sum_of(load(rows_[i].sums))}; }

    void begin_row(int64_t i, const Place & place) {
        memcpy(queries_ + i * a_.width_k, at(a_.q, place.token, place.head, place.stream), a_.width_k * sizeof(float));
        rows_[i].slope = a_.slope(place.head);
        rows_[i].mask  = nullptr;
        if (const ggml_tensor * mask = a_.mask) {
            rows_[i].mask = (const ggml_fp16_t *) at(mask, place.token, place.head % mask->ne[2], place.stream % mask->ne[3]);
        }
    }

    // Adds n cells to the rows and prefetches the cells after them.
    void take(int n, int64_t cell) {
        bool any = false;
        for (int64_t i = 0; i < n_; ++i) {
            Row & row = rows_[i];
            if (i > 0 && row.mask == rows_[i - 1].mask) {
                row.hidden = rows_[i - 1].hidden;
                row.masked = rows_[i - 1].masked;
            } else if (row.mask) {
                look_at_mask(row, cell, n);
            } else {
                row.hidden = row.masked = false;
            }
            any |= !row.hidden;
        }
        if (!any) return;
        const Cells keys = cells_in_halves(a_.k, keys_ + cell * a_.k->nb[1], n, cell_keys_, key_halves_);
        const Cells values = cells_in_halves(a_.v, values_of_cells_ + cell * a_.v->nb[1], n, cell_values_, value_halves_);
        if (n_ <= kFew) {
            lay_out(keys, n, (ggml_fp16_t *) cell_keys_);
            take<From::memory>(n, cell, (ggml_fp16_t *) cell_keys_, (const ggml_fp16_t *) values.first, values.stride, values.ahead);
            return;
        }
        lay_out(keys, n, cell_keys_);
        const int64_t width = a_.width_v;
        for (int i = 0; i < n; ++i) {
            const auto *  from = (const ggml_fp16_t *) (values.first + i * values.stride);
            float * const to   = cell_values_ + i * width;
            for (int64_t j = 0; j < width; j += kLanes) {
                if (j * sizeof *from % kLine == 0) _mm_prefetch((const char *) (from + j) + values.ahead, _MM_HINT_T1);
                store(to + j, load(from + j));
            }
        }
        take<From::buffer>(n, cell, cell_keys_, cell_values_, width * sizeof(float), 0);
    }

    template <From Where, class T>
    void take(int n, int64_t cell, const T * keys, const T * values, size_t values_stride, size_t ahead) {
        for (int64_t first = 0, last; first < n_; first = last + 1) {
            while (first < n_ && rows_[first].hidden) ++first;
            for (last = first; last < n_ && !rows_[last].hidden; ++last) {}
            float * const scores = scores_ + first * kCells;
            multiply<false, From::buffer>(Product<T>{queries_ + first * a_.width_k, a_.width_k, keys, kCells * sizeof(T),
                                                     scores, kCells, last - first, a_.width_k, kCells, 0});
            for (int64_t i = first; i < last; ++i) {
                softmax_step(rows_[i], scores_ + i * kCells, cell, n, cap_, values_ + i * a_.width_v, a_.width_v);
            }
            multiply<true, Where>(Product<T>{scores, kCells, values, values_stride, values_ + first * a_.width_v,
                                             a_.width_v, last - first, n, a_.width_v, ahead});
        }
    }

    // Transposes the keys: one column for each cell.
    template <class T> void lay_out(const Cells & keys, int n, T * out) const {
        for (int i = 0; i < n; i += kTransposed) {
            const char * cells[kTransposed];
            for (int l = 0; l < kTransposed; ++l) cells[l] = keys.first + std::min(i + l, n - 1) * keys.stride;
            for (int64_t j = 0; j < a_.width_k; j += kLanes) {
                const size_t offset = j * sizeof(ggml_fp16_t);
                if (offset % kLine == 0) {
                    for (const char * const of : cells) _mm_prefetch(of + offset + keys.ahead, _MM_HINT_T1);
                }
                transpose(cells, offset, out + j * kCells + i);
            }
        }
    }

    const Attention & a_;
    float *           queries_;
    float *           scores_;
    float *           values_;
    float *           all_values_;
    float *           cell_keys_;
    float *           cell_values_;
    ggml_fp16_t *     key_halves_;
    ggml_fp16_t *     value_halves_;
    float             cap_;
    int64_t           first_ = 0, n_ = 0;
    const char *      keys_            = nullptr;
    const char *      values_of_cells_ = nullptr;
    Row               rows_[kRows];
};

// Threads take runs of chunks, then each adds up the parts of some rows.
void compute_by_chunks(const ggml_compute_params * params, const Attention & a, Tile & tile, Part * parts) {
    auto * const  values = (float *) (parts + a.n_rows() * a.n_chunks);
    const int64_t run    = std::clamp<int64_t>(a.n_tiles * a.n_chunks / (8 * params->nth), 1, 8);
    const int64_t n_runs = parts_of(a.n_chunks, run) * a.n_tiles;
    for (int64_t i = params->ith; i < n_runs; i = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        tile.begin(i % a.n_tiles);
        const int64_t first = i / a.n_tiles * run;
        for (int64_t chunk = first; chunk < std::min(first + run, a.n_chunks); ++chunk) {
            tile.compute(chunk);
            tile.write_parts(chunk, parts, values);
        }
    }
    ggml_barrier(params->threadpool);
    for (int64_t row = params->ith; row < a.n_rows(); row += params->nth) tile.add_up(row, parts, values);
}

}  // namespace

bool ggml_cpu_attention_supports(const struct ggml_tensor * dst) {
    const ggml_tensor *q = dst->src[0], *k = dst->src[1], *v = dst->src[2];
    const auto fits = [](const ggml_tensor * t) {
        return (t->type == GGML_TYPE_F16 || ggml_is_quantized(t->type)) && t->nb[0] == ggml_type_size(t->type) &&
               t->ne[0] % kLanes == 0;
    };
    return q->type == GGML_TYPE_F32 && q->nb[0] == sizeof(float) && fits(k) && fits(v) && k->ne[2] == v->ne[2];
}

size_t ggml_cpu_attention_work_size(const struct ggml_tensor * dst, int n_threads) {
    return Attention{dst}.work_size(n_threads);
}

void ggml_cpu_attention(const struct ggml_compute_params * params, struct ggml_tensor * dst) {
    const Attention a{dst};
    GGML_ASSERT(params->wsize >= a.work_size(params->nth));
    auto * const work = (float *) (((uintptr_t) params->wdata + kLine - 1) / kLine * kLine);
    Tile         tile(a, work + params->ith * a.scratch());
    if (params->ith == 0) ggml_threadpool_chunk_set(params->threadpool, params->nth);
    ggml_barrier(params->threadpool);
    if (a.shares_chunks(params->nth)) {
        compute_by_chunks(params, a, tile, (Part *) (work + params->nth * a.scratch()));
        return;
    }
    for (int64_t i = params->ith; i < a.n_tiles; i = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        tile.begin(i);
        tile.compute_all();
    }
}

#else

bool ggml_cpu_attention_supports(const struct ggml_tensor *) { return false; }
size_t ggml_cpu_attention_work_size(const struct ggml_tensor *, int) { return 0; }
void ggml_cpu_attention(const struct ggml_compute_params *, struct ggml_tensor *) {}

#endif
