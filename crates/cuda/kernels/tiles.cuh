// Block-local neighbour lists in shared memory: the fast path.
//
// A block of threads owns TILE_ATOMS atoms that follow each other in the sorted order. It copies
// every atom within reach of them once into shared memory, its tile, in coordinates relative to
// the tile's origin; each thread's list is then made of 16-bit places in the tile. TEAM threads
// share one atom where there are too few atoms to fill the card.
//
// Shared memory serves eight 16-byte reads at a time if they fall into different banks. Places are
// in bank class "place mod 8", and lane l finds an atom of class (l + k) mod 8 in its k-th slot
// wherever it has one left. Slots that stay empty hold a dummy, far from everything, of that class.
// Where eight threads share an atom, the eight that read at a time are those, and its neighbours are
// dealt out to them evenly.

// Whether a team is as many threads as there are classes.
#define EIGHT (TEAM == 8)

enum {
    CLASSES = 8,
    DUMMIES = CLASSES,               // one of each class, at places 0 to 7
    THREADS = TILE_ATOMS * TEAM,
    BUILDERS = RESIDENT < 1024 ? RESIDENT : EIGHT ? 1280 : 1024,  // that a multiprocessor should hold
    WARPS = THREADS / 32,
    WARP_ATOMS = 32 / TEAM,          // atoms that the lanes of a warp work on
    RANGES = 256,                     // stretches of bins that a tile is gathered from, at most
    FETCH = 8,                       // atoms each thread has on the way from memory at once
    BATCH = 8,                       // pairs of atoms looked at together while building
    MOST_ROWS = 16000,               // of a list
    HELD = 4,                        // excluded atoms that a thread has at hand: water has two
    LEFT_OVER = 64,                  // of an atom's neighbours, those of classes with more than their share
};

// Of an atom that another thread of the team looks at.
#define NO_MARK 0xffffffffu

// No potential reaches there, and its square and its sixth power are still numbers.
#define FAR ((real)(1e3 * sqrt((double)LONGEST_CUTOFF2)))

#define SMALL_TILE 0
#define MEDIUM_TILE 1
#define LARGE_TILE 2

// Whether a word is enough to mark which atoms of a class that a thread looks at are neighbours.
#define ONE_WORD (EIGHT && TILE_SIZE == SMALL_TILE)

// How large tiles may become. In a small one the atoms of a class can be numbered with 8 bits; in a
// large one slots hold places, where they otherwise hold byte offsets into the tile.
#if TILE_SIZE == SMALL_TILE
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

// The atoms of a block: TILE_ATOMS of them or, where densities are uneven, one of PARTS parts.
struct Owned { int first, count; };

DEVICE Owned owned_by_block(const DeviceData& w) {
#if PARTS > 1
    const uint2 owned = w.tiles.owned[blockIdx.x];
    return {(int)owned.x, (int)owned.y};
#else
    const int first = blockIdx.x * TILE_ATOMS;
    return {first, min((int)TILE_ATOMS, w.n - first)};
#endif
}

// Which of its block's atoms a thread works on. Where a warp has few, those that feel nothing but charges come
// last: most warps then have none but such, or none of them.
#define ORDERED (EIGHT && TILE_ATOMS == 32)

DEVICE int own_of_thread(const DeviceData& w) {
    const int k = threadIdx.x / TEAM;
    return ORDERED ? w.tiles.own_order[blockIdx.x * TILE_ATOMS + k] : k;
}

DEVICE real4 in_tile(const DeviceData& w, Position p, Position origin) {
    real3 d = difference(w.geometry, p, origin);
    return {d.x, d.y, d.z, as_real((int)p.species)};
}
