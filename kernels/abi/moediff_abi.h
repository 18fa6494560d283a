/* moediff_abi.h: the only seam between the harness and anything that computes. Plain C, versioned.
 *
 * A *provider* is a shared library that exports `moediff_provider`; it computes the ops of an MoE layer on a stream.
 * A *backend* is a shared library that exports `moediff_backend`; it owns memory, streams and events of one runtime.
 * All functions return 0 for success, otherwise non-zero with a text in `last_error`. Pointers are device pointers
 * unless said otherwise. A provider must not synchronise the device and must leave its work ordered on `stream`.
 */
/* clang-format off */
#ifndef MOEDIFF_ABI_H
#define MOEDIFF_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOEDIFF_ABI_VERSION 2u

typedef void* md_stream; /* hipStream_t, cudaStream_t */
typedef void* md_event;

typedef enum md_dtype {
  MD_F32 = 0, MD_BF16 = 1, MD_F64 = 2, MD_I32 = 3, MD_U8 = 4, MD_F16 = 5, MD_I8 = 6,
  MD_F8_E4M3FN = 7, MD_F8_E4M3FNUZ = 8, MD_F8_E5M2 = 9, MD_F8_E5M2FNUZ = 10, MD_F8_E8M0 = 11,
  MD_FIELD = 12, /* uint64, integers modulo 2^61 - 1 (algebra mode, below) */
  MD_I64 = 13
} md_dtype;

#define MD_MAX_RANK 4
/* A tensor in device memory; strides in elements. data == NULL: operand absent. */
typedef struct md_tensor {
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t shape[MD_MAX_RANK];
  int64_t stride[MD_MAX_RANK];
} md_tensor;

/* T tokens, H hidden, I inter, E experts, k top_k, S shared experts, W columns of the top-k buffer (k, or k+S when the
 * shared experts are fused: then expert ids L..L+S-1 with weight 1 are already in columns k..), R = T*W rows. */
typedef enum md_op {
  MD_OP_ROUTER = 0,
  MD_OP_DISPATCH = 1,
  MD_OP_GEMM1 = 2,
  MD_OP_ACTIVATION = 3,
  MD_OP_GEMM2 = 4,
  MD_OP_COMBINE = 5,
  MD_OP_SHARED_GEMM1 = 6,
  MD_OP_SHARED_ACTIVATION = 7,
  MD_OP_SHARED_GEMM2 = 8,
  MD_OP_SCALE_ADD = 9,
  MD_OP_RESIDUAL_ADD = 10,
  MD_OP_WEIGH_INPUT = 11,
  MD_OP_QUANTIZE_A1 = 12,
  MD_OP_QUANTIZE_A2 = 13,
  MD_OP_ACTIVATION_QUANTIZE = 14,
  MD_OP_SHARED_QUANTIZE_A1 = 15,
  MD_OP_SHARED_QUANTIZE_A2 = 16,
  MD_OP_SHARED_ACTIVATION_QUANTIZE = 17,
  MD_OP_CONVERT = 18,
  MD_OP_COUNT = 19
} md_op;

/* Operand slots of each op, in order: indices into md_call::tensors. "x" is the model dtype (f32, bf16, f16 or field).
 *
 * Quantised weights (params.scheme != MD_SCHEME_NONE). A weight [.., n, k] then holds codes and has scales
 * [.., sn, sk]; "q" is its code dtype:
 *   FP8_BLOCK     q = e4m3fn | e4m3fnuz, f32 scales [blocks of n, ceil(k / group)]: row n has block row n / group, but
 *                 with params.halves (gate rows, then up rows) each half is cut on its own: row r of half h has block
 *                 row h * ceil(half / group) + (r - h * half) / group. Activations: codes of q, f32 scales [rows, ceil(k / group)]
 *   FP8_TENSOR    f32 scales [1, 1]; activations: codes of q, one f32 scale [1, 1]
 *   FP8_CHANNEL   f32 scales [n, 1]; activations: codes of q, f32 scales [rows, 1]
 *   INT8_CHANNEL  q = i8, f32 scales [n, 1], offset [n, 1] of zeros, carried and not used; activations: i8, f32 [rows, 1]
 *   INT4_GROUP    q = u8, two codes a byte along k, the even element in the low nibble, value = nibble - 8, rows of
 *                 ceil(k / 2) bytes; scales x [n, ceil(k / group)]; activations stay x
 *   MXFP4         q = u8, two e2m1 codes a byte likewise; scales e8m0 [n, ceil(k / 32)]; activations stay x
 *
 * Arithmetic of a dot product (all in fp32 unless said otherwise; k ascending; K ranges of split_k are a multiple of the
 * block for FP8_BLOCK: ceil(ceil(K / split_k) / group) * group):
 *   NONE                     sum = fma(a, w, sum) from 0
 *   INT4_GROUP, MXFP4        the same with w = round_x(code * scale), the product in fp32
 *   FP8_BLOCK                for each K block: dot = fma over the block from 0; sum = sum + (dot * sa) * sb
 *   FP8_TENSOR, FP8_CHANNEL  sum = fma(qa, qb, sum) from 0 over the whole range, then (sum * sa) * sb
 *   INT8_CHANNEL             exact int32 sum over the whole range, converted to fp32, then (sum * sa) * sb
 * A routing weight (gemm1, gemm2 with topk_weights) multiplies the sum of the range last for NONE, INT4_GROUP, MXFP4 and
 * FP8_BLOCK, and before sa for the others: ((sum * w) * sa) * sb. With split_k each range is finished so and stored in
 * the workspace; the ranges are added in order. The result is rounded once to x.
 *
 * Algebra mode: every float operand has dtype MD_FIELD and all arithmetic is modulo p = 2^61 - 1: fma, sums and products
 * exactly so; 1 / s is the inverse (of 0: 0); roundings and clamps do nothing; codes are not packed. What is no
 * polynomial is replaced by a fixed one: an activation of kind i by f(g) = g^3 + (i + 2) g^2 + (i + 5) g + 1, times u;
 * the scale of a group of x by s = S^2 + 3 S + 7, S the sum of its elements; code = x * (1 / s); int4 and fp4 codes are
 * multiplied by their scales as they are (no - 8). The router and convert do not exist in this mode. params.factor is
 * replaced by params.field_factor.
 */
enum { /* MD_OP_ROUTER: logits = x W^T in fp32; scores; group-limited top-k; weights */
  MD_ROUTER_HIDDEN = 0,  /* x   [T, H] */
  MD_ROUTER_WEIGHT = 1,  /* x   [E, H] */
  MD_ROUTER_BIAS = 2,    /* f32 [E]    e_score_correction_bias, or absent */
  MD_ROUTER_LOGITS = 3,  /* f32 or x [T, E] out */
  MD_ROUTER_IDS = 4,     /* i32 [T, k] out, row stride W; by descending choice score, lower index first on ties */
  MD_ROUTER_WEIGHTS = 5  /* f32 [T, k] out, row stride W; times params.factor */
};
enum { /* MD_OP_DISPATCH: stable counting sort of the slots t*W+j by expert id */
  MD_DISPATCH_IDS = 0,     /* i32 [T, W] */
  MD_DISPATCH_OFFSETS = 1, /* i32 [E+1] out: first row of each expert */
  MD_DISPATCH_SLOTS = 2,   /* i32 [T*W] out: slot t*W+j of each row */
  MD_DISPATCH_ROWS = 3     /* i32 [T*W] out: row of each slot */
};
enum { /* MD_OP_GEMM1 (grouped) */
  MD_GEMM1_HIDDEN = 0,    /* x or codes [T, H] */
  MD_GEMM1_SLOTS = 1,     /* i32 [R] */
  MD_GEMM1_OFFSETS = 2,   /* i32 [E+1] */
  MD_GEMM1_W13 = 3,       /* x or codes [E, 2I, H]: gate rows, then up rows */
  MD_GEMM1_OUT = 4,       /* x   [R, 2I] out */
  MD_GEMM1_WORKSPACE = 5, /* f32 (algebra: field) [split_k, R, 2I] scratch, absent when split_k == 1 */
  MD_GEMM1_A_SCALES = 6,  /* of the codes, or absent */
  MD_GEMM1_W_SCALES = 7,  /* [E, sn, sk] or absent */
  MD_GEMM1_WEIGHTS = 8,   /* f32 [T, W]: topk_weights, when they belong to this product; else absent */
  MD_GEMM1_OFFSET = 9     /* [E, 2I, 1] weight_offset, or absent */
};
enum { MD_ACTIVATION_IN = 0 /* x [R, 2I] */, MD_ACTIVATION_OUT = 1 /* x [R, I] out */ };
enum { /* MD_OP_GEMM2 (grouped) */
  MD_GEMM2_ACT = 0,      /* x or codes [R, I] */
  MD_GEMM2_OFFSETS = 1,  /* i32 [E+1] */
  MD_GEMM2_W2 = 2,       /* x or codes [E, H, I] */
  MD_GEMM2_OUT = 3,      /* x   [R, H] out */
  MD_GEMM2_SLOTS = 4,    /* i32 [R], with MD_GEMM2_WEIGHTS */
  MD_GEMM2_WEIGHTS = 5,  /* f32 [T, W]: topk_weights, when they belong to this product; else absent */
  MD_GEMM2_A_SCALES = 6, /* of the codes, or absent */
  MD_GEMM2_W_SCALES = 7, /* [E, sn, sk] or absent */
  MD_GEMM2_OFFSET = 8    /* [E, H, 1] weight_offset, or absent */
};
enum { /* MD_OP_COMBINE: sum over a token's slots in ascending slot order (params.sum) */
  MD_COMBINE_IN = 0,      /* x   [R, H] */
  MD_COMBINE_ROWS = 1,    /* i32 [T*W] row of each slot */
  MD_COMBINE_WEIGHTS = 2, /* f32 [T, W], or absent: all 1 */
  MD_COMBINE_OUT = 3      /* x   [T, H] out */
};
enum { /* MD_OP_SHARED_GEMM1 */
  MD_SHARED_GEMM1_HIDDEN = 0,    /* x or codes [T, H] */
  MD_SHARED_GEMM1_W13 = 1,       /* x or codes [2*S*I, H]: gate rows, then up rows */
  MD_SHARED_GEMM1_OUT = 2,       /* x   [T, 2*S*I] out */
  MD_SHARED_GEMM1_WORKSPACE = 3, /* f32 (algebra: field) [split_k, T, 2*S*I] scratch, absent when split_k == 1 */
  MD_SHARED_GEMM1_A_SCALES = 4,
  MD_SHARED_GEMM1_W_SCALES = 5,  /* [sn, sk] */
  MD_SHARED_GEMM1_OFFSET = 6
};
enum { MD_SHARED_ACTIVATION_IN = 0 /* x [T, 2*S*I] */, MD_SHARED_ACTIVATION_OUT = 1 /* x [T, S*I] out */ };
enum { /* MD_OP_SHARED_GEMM2 */
  MD_SHARED_GEMM2_ACT = 0, /* x or codes [T, S*I] */
  MD_SHARED_GEMM2_W2 = 1,  /* x or codes [H, S*I] */
  MD_SHARED_GEMM2_OUT = 2, /* x [T, H] out */
  MD_SHARED_GEMM2_A_SCALES = 3,
  MD_SHARED_GEMM2_W_SCALES = 4, /* [sn, sk] */
  MD_SHARED_GEMM2_OFFSET = 5
};
enum { /* MD_OP_SCALE_ADD: round(round(factor * routed) + shared); may run in place on either input */
  MD_SCALE_ADD_ROUTED = 0, /* x [T, H] */
  MD_SCALE_ADD_SHARED = 1, /* x [T, H] or absent */
  MD_SCALE_ADD_OUT = 2     /* x [T, H] out */
};
enum { MD_RESIDUAL_ADD_MOE = 0 /* x [T, H] */, MD_RESIDUAL_ADD_HIDDEN = 1 /* x [T, H] */, MD_RESIDUAL_ADD_OUT = 2 /* x [T, H] out */ };
enum { /* MD_OP_WEIGH_INPUT: out[t] = round(round(weights[t, 0]) * x[t]) */
  MD_WEIGH_INPUT_HIDDEN = 0, /* x   [T, H] */
  MD_WEIGH_INPUT_WEIGHTS = 1, /* f32 [T, 1] */
  MD_WEIGH_INPUT_OUT = 2      /* x   [T, H] out */
};
/* MD_OP_QUANTIZE_A1, _A2 and the shared ones. Per group (params.group elements of a row; the last one may be short), row
 * or tensor: amax = largest magnitude; s = max(amax, amax_floor) / fmax or * (1 / fmax); ue8m0: s = 2^ceil(log2 s);
 * code = round(clamp(x / s or x * (1 / s) or x * (fmax / max(amax, amax_floor)), -fmax, fmax)), all in fp32. A scale of 0
 * gives codes 0. Several rows of NaN are outside the contract. */
enum { MD_QUANTIZE_IN = 0 /* x [R, K] */, MD_QUANTIZE_CODES = 1 /* q [R, K] out */, MD_QUANTIZE_SCALES = 2 /* f32 out */ };
/* MD_OP_ACTIVATION_QUANTIZE: the activation in fp32 (not rounded to x), then as above. Input x [R, 2K]. */
enum { MD_CONVERT_FROM = 0 /* [N] */, MD_CONVERT_TO = 1 /* [N] out: any float dtype from f32, f32 from any */ };

enum { MD_SCORING_SIGMOID = 0, MD_SCORING_SOFTMAX = 1 };
enum { MD_GROUP_TOP2_SUM = 0, MD_GROUP_MAX = 1 };
enum { MD_MASK_NEG_INF = 0, MD_MASK_ZERO = 1 };
enum { MD_IN_FP32 = 0, MD_IN_MODEL = 1 };
enum { MD_WEIGHT_SCORE = 0, MD_WEIGHT_FRESH_SCORE = 1, MD_WEIGHT_CHOICE_MINUS_BIAS = 2 };
enum { MD_NOT_FINITE_LOWEST = 0, MD_NOT_FINITE_UNIFORM = 1 };
enum { MD_SILU = 0, MD_GELU = 1, MD_GELU_TANH = 2, MD_SWIGLU_CLAMPED = 3, MD_SWIGLUOAI = 4 };
enum { MD_ROUND_TWICE = 0, MD_ROUND_ONCE = 1 };
enum { MD_SUM_FP32 = 0, MD_SUM_MOE_SUM = 1 };
enum { MD_SCHEME_NONE = 0, MD_SCHEME_FP8_BLOCK = 1, MD_SCHEME_FP8_TENSOR = 2, MD_SCHEME_FP8_CHANNEL = 3,
       MD_SCHEME_INT8_CHANNEL = 4, MD_SCHEME_INT4_GROUP = 5, MD_SCHEME_MXFP4 = 6 };
enum { MD_SCALES_FP32 = 0, MD_SCALES_UE8M0 = 1 };
enum { MD_SCALE_FROM_DIVISION = 0, MD_SCALE_FROM_RECIPROCAL = 1 };
enum { MD_SCALE_BY_DIVISION = 0, MD_SCALE_BY_RECIPROCAL = 1, MD_SCALE_BY_RATIO = 2 };
enum { MD_HALF_TO_EVEN = 0, MD_HALF_AWAY = 1 };

typedef struct md_params {
  int32_t top_k, n_group, topk_group, norm_topk_prob;
  int32_t split_k; /* 1: none */
  float factor;    /* router: multiplied into the weights; scale_add: applied to routed */
  /* router; the order of its arithmetic in fp32:
   *   score = sigmoid or softmax(logits) [rounded to x]; bias [rounded to x]; choice = score + bias [rounded to x];
   *   weight = score, sigmoid or softmax again without rounding, or choice - bias; sum in descending order of choice;
   *   weight = weight / (sum + norm_epsilon) if norm_topk_prob; weight * factor; [rounded to x] */
  int32_t scoring, group_score, mask, scores_in, bias_in, choice_in, weights_in, weight_from, not_finite;
  float norm_epsilon;
  int32_t activation, activation_rounding; /* activation, activation_quantize */
  float limit;
  int32_t sum; /* combine */
  int32_t scheme, scale_kind, scale_from, scale_by, half_to; /* quantisation */
  int32_t halves;
  int64_t group;
  float fmax, amax_floor;
  int32_t saturate;      /* convert */
  uint64_t field_factor; /* algebra mode */
} md_params;

typedef struct md_call {
  uint32_t size; /* sizeof(md_call) of the caller */
  int32_t op;    /* md_op */
  const md_tensor* tensors;
  int32_t tensor_count;
  md_params params;
  md_stream stream;
} md_call;

enum { MD_PROVIDER_DETERMINISTIC = 1u, MD_PROVIDER_BATCH_INVARIANT = 2u };

typedef struct md_provider {
  uint32_t abi_version;
  const char* name;
  const char* backend; /* "host", "rocm", "cuda" */
  uint32_t flags;
  /* Enqueues the op on call->stream. */
  int (*call)(const md_call* call);
  /* Chooses kernel variants, "op=variant,op=variant"; "" or NULL: the default ones. Unknown names are an error. */
  int (*select_variants)(const char* variants);
  /* Text of the last error on this thread. */
  const char* (*last_error)(void);
} md_provider;

/* Exported by a provider. NULL when it cannot serve this ABI version. */
const md_provider* moediff_provider(uint32_t abi_version);

/* ------------------------------------------------------------------------------------------------ backends */

typedef enum md_memory_kind {
  MD_MEMORY_VALUE = 0,    /* activations and inputs: watched page by page, guard pages round each */
  MD_MEMORY_WEIGHT = 1,   /* written once by copy_in, then read-only */
  MD_MEMORY_WORKSPACE = 2 /* scratch: watched like a value */
} md_memory_kind;

/* The runtime's own record of what was issued, in issue order. */
typedef enum md_item_kind {
  MD_ITEM_LAUNCH = 0, MD_ITEM_COPY = 1, MD_ITEM_FILL = 2, MD_ITEM_RECORD = 3, MD_ITEM_WAIT = 4, MD_ITEM_ALLOC = 5,
  MD_ITEM_FREE = 6, MD_ITEM_STREAM_SYNC = 7, MD_ITEM_EVENT_SYNC = 8, MD_ITEM_DEVICE_SYNC = 9, MD_ITEM_HOST_FUNC = 10
} md_item_kind;

typedef struct md_item {
  int32_t kind;     /* md_item_kind */
  int32_t tag;      /* what host->set_tag said when it was issued; -1 otherwise */
  int32_t stream;   /* 0: the legacy null stream; else numbered in creation order from 1 */
  int32_t blocking; /* 0: stream made with the non-blocking flag */
  int32_t event;    /* number in creation order, -1 */
  int32_t block;    /* alloc, free, and destination of copy and fill; -1: not device memory */
  int64_t offset, bytes;
  const char* name; /* kernel name, "" otherwise; lives until reset */
} md_item;

typedef struct md_block {
  const char* label;
  void* address;
  int64_t bytes;
  int32_t provider_owned; /* 1: allocated inside a provider call, or a library's static data */
  int32_t kind;           /* md_memory_kind */
} md_block;

enum { MD_TOUCH_READ = 0, MD_TOUCH_WRITE = 1 };
typedef struct md_touch { /* page-exact */
  int32_t block, what;
  int64_t begin, end;
} md_touch;

enum { MD_SCHEDULE_SUBMISSION = 0, MD_SCHEDULE_REVERSE = 1, MD_SCHEDULE_RANDOM = 2, MD_SCHEDULE_GIVEN = 3, MD_SCHEDULE_THREADS = 4 };

/* Called when an item with a tag is about to be executed as the first of its tag (begin = 1), or was executed as the
 * last issued one of its tag (begin = 0), on the thread that executes. */
typedef void (*md_tag_hook)(void* user, int32_t tag, int32_t begin);
/* Called from the fault handler (async-signal-safe code only) before the process is ended for an illegal access. */
typedef void (*md_fault_hook)(void* user, int32_t tag, const char* kernel, const char* block_label, int64_t distance, int32_t is_write);

/* Only the host backend has this. */
typedef struct md_host_control {
  int (*set_schedule)(int32_t policy, uint64_t seed, const int32_t* order, int32_t order_count, int32_t reuse_memory);
  void (*set_tag)(int32_t tag); /* of what is issued from now on; -1: none */
  void (*set_hooks)(md_tag_hook tag_hook, md_fault_hook fault_hook, void* user);
  /* Trace since the last reset; seq = index. */
  int32_t (*trace)(const md_item** items);
  /* seq of executed items in execution order since the last reset. */
  int32_t (*executed)(const int32_t** order);
  int32_t (*blocks)(const md_block** blocks);
  /* Watches a loaded library's writable static data as one provider-owned block. `symbol`: any address inside it. */
  int (*watch_library)(const void* symbol, const char* label);
  /* Observation. Between begin and end every first read or write of a page of a value, workspace or provider-owned
   * block is noted. Work may be issued before begin, but none may run; the device must be idle at end. */
  int (*observe_begin)(void);
  int32_t (*observe_end)(const md_touch** touches);
  /* Red zones: text of damaged zones since the last call ("4 bytes past gemm1_out"), "" when intact. */
  const char* (*check_red_zones)(void);
  /* Forgets trace, frees everything, streams and events included; provider-owned memory stays. */
  void (*reset)(void);
} md_host_control;

/* device_synchronize returns this when a launch can never end: its threads wait for each other (hipErrorLaunchTimeOut). */
#define MD_ERROR_NEVER_ENDS 702
/* block_label of an access near address 0: no stray pointer but none at all. */
#define MD_LABEL_NULL_POINTER "null pointer"

typedef struct md_backend {
  uint32_t abi_version;
  const char* name;     /* "host", "rocm", "cuda" */
  const char* runtime;  /* "hiphost 0.1", "HIP 5.2.21153" */
  int (*device_count)(void);
  int (*device_name)(int device, char* text, size_t size);
  int (*set_device)(int device);
  /* Memory that lives until free_memory; filled with poison (0xFF: NaN in every float format) until written. */
  int (*allocate)(void** pointer, int64_t bytes, int32_t kind, const char* label);
  int (*free_memory)(void* pointer);
  int (*copy_in)(void* device, const void* host, int64_t bytes);  /* synchronous */
  int (*copy_out)(void* host, const void* device, int64_t bytes); /* synchronous */
  int (*stream_create)(md_stream* stream, int non_blocking);
  int (*event_create)(md_event* event);
  int (*event_record)(md_event event, md_stream stream);
  int (*stream_wait)(md_stream stream, md_event event);
  /* Stream-ordered pool (hipMallocAsync): address known at issue; poisoned on allocation on the host backend. */
  int (*allocate_async)(void** pointer, int64_t bytes, int32_t kind, const char* label, md_stream stream);
  int (*free_async)(void* pointer, md_stream stream);
  /* rows runs of row_bytes, strides in bytes */
  int (*copy_async)(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t row_bytes, int64_t rows, md_stream stream);
  int (*fill_async)(void* to, int value, int64_t bytes, md_stream stream);
  int (*device_synchronize)(void);
  const char* (*last_error)(void);
  const md_host_control* host; /* NULL on GPU backends */
} md_backend;

/* Exported by a backend. NULL when it cannot serve this ABI version. */
const md_backend* moediff_backend(uint32_t abi_version);

#ifdef __cplusplus
}
#endif
#endif
