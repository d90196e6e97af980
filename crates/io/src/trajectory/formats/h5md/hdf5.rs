//! HDF5, as far as a trajectory that grows needs it
//! (<https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html>): groups, datasets of
//! numbers, attributes, and the trees that say where the chunks of a dataset are. The oldest versions
//! of the library read all of it.

/// No address, no limit.
const NONE: u64 = u64::MAX;
/// Place of the strings of attributes, behind the superblock; the smallest that the library takes.
const HEAP: u64 = 96;
const HEAP_BYTES: usize = 4096;
/// Place where objects begin.
const OBJECTS: u64 = HEAP + HEAP_BYTES as u64;
/// Children of a node of a tree; the default for superblocks without that number.
pub(super) const FAN: u64 = 64;

/// The type of a number.
#[derive(Debug, Clone, Copy)]
pub(super) enum NumberType<'a> {
    I32,
    I64,
    F32,
    F64,
    /// Whole numbers from 0 with names.
    Names(&'a [String]),
}

impl NumberType<'_> {
    /// Bytes of a number.
    pub fn width(self) -> u64 {
        match self {
            NumberType::I32 | NumberType::F32 | NumberType::Names(_) => 4,
            NumberType::I64 | NumberType::F64 => 8,
        }
    }

    fn message(self) -> Vec<u8> {
        // Class and version, flags, bytes; then the place of bits.
        match self {
            NumberType::I32 => bytes(&[&[0x10, 8, 0, 0, 4, 0, 0, 0], &[0, 0, 32, 0]]),
            NumberType::I64 => bytes(&[&[0x10, 8, 0, 0, 8, 0, 0, 0], &[0, 0, 64, 0]]),
            NumberType::F32 => {
                bytes(&[&[0x11, 0x20, 31, 0, 4, 0, 0, 0], &[0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0]])
            }
            NumberType::F64 => {
                bytes(&[&[0x11, 0x20, 63, 0, 8, 0, 0, 0], &[0, 0, 64, 0, 52, 11, 0, 52, 0xff, 3, 0, 0]])
            }
            NumberType::Names(names) => {
                let count = (names.len() as u16).to_le_bytes();
                let mut out =
                    bytes(&[&[0x18, count[0], count[1], 0, 4, 0, 0, 0], &NumberType::I32.message()]);
                for name in names {
                    let end = out.len() + name.len() / 8 * 8 + 8;
                    out.extend(name.bytes());
                    out.resize(end, 0);
                }
                out.extend((0..names.len() as i32).flat_map(i32::to_le_bytes));
                out
            }
        }
    }
}

/// Value of an attribute.
#[derive(Debug, Clone, Copy)]
pub(super) enum AttributeValue<'a> {
    Int(i32),
    Ints(&'a [i32]),
    Text(&'a str),
    Texts(&'a [&'a str]),
}

/// Place of the numbers of a dataset.
#[derive(Debug, Clone, Copy)]
pub(super) enum DataPlace {
    /// One piece of `bytes` bytes from `at` on.
    Piece { at: u64, bytes: u64 },
    /// A chunk for each frame, found by a tree; `None`: there is no frame.
    Chunks { root: Option<u64> },
}

/// The objects of a file, and the texts of their attributes.
pub(super) struct Objects {
    out: Vec<u8>,
    heap: Vec<u8>,
    texts: u16,
}

impl Objects {
    pub fn new() -> Self {
        Objects { out: Vec::new(), heap: Vec::new(), texts: 0 }
    }

    /// Adds a group of objects that are there; gives its address.
    pub fn group(&mut self, members: &[(&str, u64)], attributes: &[(&str, AttributeValue)]) -> u64 {
        let mut messages =
            vec![(0x02, bytes(&[&[0, 0], &NONE.to_le_bytes(), &NONE.to_le_bytes()])), (0x0a, vec![0, 0])];
        messages.extend(members.iter().map(|(name, at)| {
            (0x06, bytes(&[&[1, 0, name.len() as u8], name.as_bytes(), &at.to_le_bytes()]))
        }));
        self.object(messages, attributes, 1)
    }

    /// Adds a dataset to which `names` names lead; returns its address. The first edge of one in
    /// chunks has no limit, and a chunk is all that one index of it has.
    pub fn dataset(
        &mut self,
        kind: NumberType,
        shape: &[u64],
        place: DataPlace,
        attributes: &[(&str, AttributeValue)],
        names: u32,
    ) -> u64 {
        let chunked = matches!(place, DataPlace::Chunks { .. });
        let limits = shape.iter().enumerate().map(|(k, n)| if chunked && k == 0 { NONE } else { *n });
        let (layout, when) = match place {
            DataPlace::Piece { at, bytes: count } => {
                (bytes(&[&[3, 1], &at.to_le_bytes(), &count.to_le_bytes()]), 2)
            }
            DataPlace::Chunks { root } => {
                let edges = [1].into_iter().chain(shape[1..].iter().copied()).chain([kind.width()]);
                let edges: Vec<u8> = edges.flat_map(|n| (n as u32).to_le_bytes()).collect();
                let root = root.unwrap_or(NONE).to_le_bytes();
                (bytes(&[&[3, 2, shape.len() as u8 + 1], &root, &edges]), 3)
            }
        };
        let messages = vec![
            (0x01, space(shape, limits)),
            (0x03, kind.message()),
            (0x05, vec![2, when, 2, 0]),
            (0x08, layout),
        ];
        self.object(messages, attributes, names)
    }

    /// All objects behind a superblock, for a file of this number of bytes.
    pub fn finish(self, root: u64, end: u64) -> Vec<u8> {
        let mut out = bytes(&[b"\x89HDF\r\n\x1a\n", &[0, 0, 0, 0, 0, 8, 8, 0], &[4, 0, 16, 0, 0, 0, 0, 0]]);
        for word in [0, NONE, end, NONE, 0, root, 0, 0, 0] {
            out.extend(u64::to_le_bytes(word));
        }
        out.extend(bytes(&[b"GCOL\x01\0\0\0", &(HEAP_BYTES as u64).to_le_bytes(), &self.heap]));
        // The rest of the heap is an object, too.
        let left = OBJECTS - out.len() as u64;
        out.extend(bytes(&[&[0; 8], &left.to_le_bytes()]));
        out.resize(OBJECTS as usize, 0);
        out.extend(self.out);
        out
    }

    fn object(
        &mut self,
        mut messages: Vec<(u16, Vec<u8>)>,
        attributes: &[(&str, AttributeValue)],
        names: u32,
    ) -> u64 {
        for (name, value) in attributes {
            messages.push((0x0c, self.attribute(name, *value)));
        }
        let count = messages.len() as u16;
        let mut body = Vec::new();
        for (kind, mut message) in messages {
            pad(&mut message);
            let length = message.len() as u16;
            body.extend(bytes(&[&u16::to_le_bytes(kind), &length.to_le_bytes(), &[0; 4], &message]));
        }
        let at = OBJECTS + self.out.len() as u64;
        self.out.extend(bytes(&[&[1, 0], &count.to_le_bytes(), &names.to_le_bytes()]));
        self.out.extend(bytes(&[&(body.len() as u32).to_le_bytes(), &[0; 4], &body]));
        at
    }

    fn attribute(&mut self, name: &str, value: AttributeValue) -> Vec<u8> {
        // Text of any length, in UTF-8.
        let text = || bytes(&[&[0x19, 1, 1, 0, 16, 0, 0, 0], &[0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0]]);
        let (kind, shape, data) = match value {
            AttributeValue::Int(x) => (NumberType::I32.message(), vec![], x.to_le_bytes().to_vec()),
            AttributeValue::Ints(all) => (
                NumberType::I32.message(),
                vec![all.len() as u64],
                all.iter().flat_map(|x| x.to_le_bytes()).collect(),
            ),
            AttributeValue::Text(one) => (text(), vec![], self.text(one)),
            AttributeValue::Texts(all) => {
                (text(), vec![all.len() as u64], all.iter().flat_map(|t| self.text(t)).collect())
            }
        };
        let space = space(&shape, shape.iter().copied());
        let mut out = vec![1, 0];
        let mut parts = [bytes(&[name.as_bytes(), &[0]]), kind, space];
        out.extend(parts.iter().flat_map(|part| (part.len() as u16).to_le_bytes()));
        parts.iter_mut().for_each(pad);
        out.extend(parts.concat());
        out.extend(data);
        out
    }

    /// Puts a text on the heap; returns the reference to it.
    fn text(&mut self, text: &str) -> Vec<u8> {
        self.texts += 1;
        let index = self.texts.to_le_bytes();
        let mut object =
            bytes(&[&index, &[1, 0, 0, 0, 0, 0], &(text.len() as u64).to_le_bytes(), text.as_bytes()]);
        pad(&mut object);
        self.heap.extend(object);
        bytes(&[&(text.len() as u32).to_le_bytes(), &HEAP.to_le_bytes(), &index, &[0, 0]])
    }
}

/// Bytes of a node in the tree of a dataset with this number of edges.
pub(super) fn node_bytes(edges: usize) -> u64 {
    24 + (FAN + 1) * key_bytes(edges) + FAN * 8
}

/// Node of the tree of a dataset with this number of edges: of its `FAN` children, which begin at these
/// frames (with one more, where the last ends) and are at these places, it has the first. How many
/// it has stands at [`COUNT`].
pub(super) fn node(
    level: u8,
    edges: usize,
    chunk: u64,
    frames: impl Iterator<Item = u64>,
    children: &[u64],
    out: &mut Vec<u8>,
) {
    out.extend(bytes(&[b"TREE\x01", &[level, 1, 0], &NONE.to_le_bytes(), &NONE.to_le_bytes()]));
    let mut children = children.iter();
    for frame in frames {
        // Bytes of the chunk, no filter left out, its place among edges and in a number.
        let end = out.len() + key_bytes(edges) as usize;
        out.extend(bytes(&[&(chunk as u32).to_le_bytes(), &[0; 4], &frame.to_le_bytes()]));
        out.resize(end, 0);
        out.extend(children.next().map(|at| at.to_le_bytes()).into_iter().flatten());
    }
}

/// Place in a node of the two bytes with the number of its children.
pub(super) const COUNT: u64 = 6;

fn key_bytes(edges: usize) -> u64 {
    8 + 8 * (edges as u64 + 1)
}

fn space(shape: &[u64], limits: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut out = vec![1, shape.len() as u8, u8::from(!shape.is_empty()), 0, 0, 0, 0, 0];
    out.extend(shape.iter().copied().chain(limits).flat_map(u64::to_le_bytes));
    out
}

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Up to a multiple of eight.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}
