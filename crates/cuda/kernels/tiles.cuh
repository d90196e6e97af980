// Block-local neighbour lists in shared memory: the fast path.
//
// A block of threads owns TILE_ATOMS atoms that follow each other in the sorted order. It copies
// every atom within reach of them once into shared memory, its tile, in coordinates relative to
// the tile's origin; each thread's list is then made of 16-bit indices into the tile. TEAM threads
// share one atom where there are too few atoms to fill the card.
//
// Shared memory serves eight 16-byte reads at a time if they fall into different banks. The bank class of an
// atom is its index mod 8, and the k-th slot of lane l has an atom of class (l + k) mod 8 as long as one is left.
// Slots that stay empty hold a dummy of that class, far from everything. Where eight threads share an atom, these
// eight read at a time, and its neighbours are dealt out to them evenly.

// True where steps do without the forces on blocks all of whose atoms are driven, and these have lists later if at all.
#ifndef SKIPS_DRIVEN
#define SKIPS_DRIVEN 0
#endif

enum BlockKind { WITH_FREE_ATOMS, DRIVEN_WITHOUT_LIST, DRIVEN_WITH_LIST };

#define SMALL_TILE 0
#define MEDIUM_TILE 1
#define LARGE_TILE 2

// True where a team has as many threads as there are classes.
#define EIGHT (TEAM == 8)

enum {
    CLASSES = 8,
    DUMMIES = CLASSES,               // one of each class, at indices 0 to 7
    THREADS = TILE_ATOMS * TEAM,
    // Threads that build lists, resident on a multiprocessor: larger tiles of teams of eight leave no memory for more.
    BUILDERS = RESIDENT < 1024 ? RESIDENT : !EIGHT ? 1024 : TILE_SIZE == SMALL_TILE ? 1280 : 768,
    WARPS = THREADS / 32,
    WARP_ATOMS = 32 / TEAM,          // atoms of a warp
    RANGES = 256,                     // ranges of bins that a tile is gathered from, at most
    FETCH = 8,                       // atoms that each thread loads at once
    BATCH = TILE_SIZE == SMALL_TILE ? 8 : 4,  // pairs of atoms tested together while building
    MOST_ROWS = 16000,               // of a list
    HELD = 4,                        // excluded atoms in registers of a thread: water has two
    OWN_PAIRS = TILE_ATOMS / 2,      // of the block's atoms, where each of them decides who is in the tile
    // Atoms near boxes around the block's own that a tile takes in, as long as all are small: `MOST_SMALL` in Rust.
    MOST_NEAR_BOXES = TILE_SIZE == SMALL_TILE ? 2032 : 0,
    LEFT_OVER = 64,                  // neighbours of an atom in classes with more than their share
};

// Mark of an atom that another thread of the team tests.
#define NO_MARK 0xffffffffu

// Coordinate of dummies: no potential reaches there, and its square and its sixth power are still finite.
#define FAR ((real)(1e3 * sqrt((double)LONGEST_CUTOFF2)))

// True where a word is enough to mark neighbours among the atoms of a class that a thread tests.
#define ONE_WORD (EIGHT && TILE_SIZE == SMALL_TILE)

// Sizes of tiles. In a small one the atoms of a class can be numbered with 8 bits, and in a medium one those that a word
// marks, where threads write down neighbours word by word; in a large one slots hold indices, where they otherwise hold
// byte offsets into the tile.
#if TILE_SIZE == SMALL_TILE || EIGHT && TILE_SIZE == MEDIUM_TILE
typedef u8 Stage;
#else
typedef u16 Stage;
#endif

#if TILE_SIZE == LARGE_TILE
#define SLOT_UNIT 1
DEVICE real4 tile_at(const real4* tile, u32 slot) { return tile[slot]; }
#else
#define SLOT_UNIT ((u32)sizeof(real4))
DEVICE real4 tile_at(const real4* tile, u32 slot) { return *(const real4*)((const char*)tile + slot); }
#endif

// Atoms of a block: TILE_ATOMS of them or, where densities are uneven, one of PARTS parts.
struct Owned { int first, count; };

DEVICE Owned owned_by_block(const DeviceData& w) {
#if PARTS > 1
    const uint2 owned = w.tiles.owned[blockIdx.x];
    return {(int)owned.x, (int)owned.y};
#else
    const int first = w.owned.first + blockIdx.x * TILE_ATOMS;
    return {first, min((int)TILE_ATOMS, w.owned.end - first)};
#endif
}

// Atom of its block that a thread works on. Where a warp has few, those with no forces but of charges come last:
// most warps then have only such atoms, or none of them.
#define ORDERED (EIGHT && TILE_ATOMS == 32)

DEVICE int own_of_thread(const DeviceData& w) {
    const int k = threadIdx.x / TEAM;
    return ORDERED ? w.tiles.own_order[blockIdx.x * TILE_ATOMS + k] : k;
}

DEVICE real4 in_tile(const DeviceData& w, Position p, Position origin) {
    real3 d = difference(w.geometry, p, origin);
    return {d.x, d.y, d.z, as_real((int)p.species)};
}
