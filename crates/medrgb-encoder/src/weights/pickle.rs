//! Just enough of Python's pickle format to read a state dict: names, shapes and storage places.
//!
//! Nothing is ever called or imported: the few constructors that `torch.save` writes are recognised
//! by name, everything else becomes an opaque value. Source: CPython's `pickletools`.

use super::Precision;

/// A tensor of a state dict: a view into a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tensor {
    /// Key of the storage (the member `data/KEY` of the archive).
    pub storage: String,
    pub precision: Precision,
    /// First number within the storage.
    pub offset: usize,
    pub shape: Vec<usize>,
    /// Distance between neighbours along each dimension, in numbers.
    pub strides: Vec<usize>,
}

impl Tensor {
    /// Whether the numbers lie in row-major order without gaps.
    pub(super) fn is_contiguous(&self) -> bool {
        let mut expected = 1usize;
        for (size, stride) in self.shape.iter().zip(&self.strides).rev() {
            if *size != 1 && *stride != expected {
                return false;
            }
            expected = expected.saturating_mul(*size);
        }
        self.shape.len() == self.strides.len()
    }
}

/// Why a pickle could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum PickleError {
    #[error("its table of tensors ends too early or is damaged")]
    Damaged,
    #[error("its table of tensors uses the unknown pickle instruction {0:#04x}")]
    Unknown(u8),
    #[error("it does not hold a state dict of named tensors")]
    NoStateDict,
}

/// A value on the pickle machine's stack.
#[derive(Debug, Clone)]
enum Item {
    Mark,
    Int(i64),
    Text(String),
    /// Tuples and lists.
    List(Vec<Item>),
    Dict(Vec<(Item, Item)>),
    /// `module.name`.
    Global(String),
    Storage(String, Precision),
    Tensor(Tensor),
    /// None, booleans, floats and results of unknown constructors.
    Opaque,
}

impl Item {
    /// What a later GET of this value gives: containers of containers are left out, since repeating
    /// them can make a small damaged file grow without bound and state dicts never do.
    fn repeatable(&self) -> Self {
        match self {
            Self::Dict(_) => Self::Opaque,
            Self::List(items) if items.len() > 16 || items.iter().any(Self::is_container) => {
                Self::Opaque
            }
            other => other.clone(),
        }
    }

    fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Dict(_))
    }
}

/// The named tensors of a pickled state dict (or of the dict under its key `state_dict`).
pub(super) fn state_dict(bytes: &[u8]) -> Result<Vec<(String, Tensor)>, PickleError> {
    let Item::Dict(entries) = Machine::new(bytes).run()? else {
        return Err(PickleError::NoStateDict);
    };
    let inner = entries.iter().find_map(|(key, value)| match (key, value) {
        (Item::Text(key), Item::Dict(inner)) if key == "state_dict" => Some(inner.clone()),
        _ => None,
    });
    let tensors: Vec<_> = inner
        .unwrap_or(entries)
        .into_iter()
        .filter_map(|entry| match entry {
            (Item::Text(name), Item::Tensor(tensor)) => Some((name, tensor)),
            _ => None,
        })
        .collect();
    if tensors.is_empty() {
        return Err(PickleError::NoStateDict);
    }
    Ok(tensors)
}

/// The pickle machine: a stack, a memo and the bytes still to read.
struct Machine<'a> {
    rest: &'a [u8],
    stack: Vec<Item>,
    memo: std::collections::HashMap<u32, Item>,
}

impl<'a> Machine<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self {
            rest,
            stack: Vec::new(),
            memo: std::collections::HashMap::new(),
        }
    }

    /// Runs to the STOP instruction and returns the value it leaves.
    fn run(mut self) -> Result<Item, PickleError> {
        loop {
            let [code] = self.take()?;
            if code == b'.' {
                return self.pop();
            }
            self.step(code)?;
        }
    }

    fn step(&mut self, code: u8) -> Result<(), PickleError> {
        match code {
            // PROTO, FRAME: nothing to do with their arguments.
            0x80 => drop(self.take::<1>()?),
            0x95 => drop(self.take::<8>()?),
            b'(' => self.stack.push(Item::Mark),
            b'N' | 0x88 | 0x89 => self.stack.push(Item::Opaque),
            b'0' => drop(self.pop()?),
            b'K' | b'M' | b'J' | 0x8a | b'G' => self.number(code)?,
            b'X' | b'T' | b'U' | 0x8c => self.text(code)?,
            b'}' => self.stack.push(Item::Dict(Vec::new())),
            b']' | b')' => self.stack.push(Item::List(Vec::new())),
            b't' | b'l' => {
                let items = self.above_mark()?;
                self.stack.push(Item::List(items));
            }
            0x85..=0x87 => {
                let items = self.last(usize::from(code - 0x84))?;
                self.stack.push(Item::List(items));
            }
            b'a' => {
                let items = self.last(1)?;
                self.extend_list(items)?;
            }
            b'e' => {
                let items = self.above_mark()?;
                self.extend_list(items)?;
            }
            b's' => {
                let items = self.last(2)?;
                self.extend_dict(items)?;
            }
            b'u' => {
                let items = self.above_mark()?;
                self.extend_dict(items)?;
            }
            b'q' | b'r' | b'h' | b'j' | 0x94 => self.memo(code)?,
            b'c' | 0x93 => self.global(code)?,
            b'Q' => self.persistent()?,
            b'R' | 0x81 => self.construct()?,
            // BUILD sets attributes (`_metadata` of a state dict), which are of no use here.
            b'b' => drop(self.pop()?),
            other => return Err(PickleError::Unknown(other)),
        }
        Ok(())
    }

    fn number(&mut self, code: u8) -> Result<(), PickleError> {
        let item = match code {
            b'K' => Item::Int(i64::from(u8::from_le_bytes(self.take()?))),
            b'M' => Item::Int(i64::from(u16::from_le_bytes(self.take()?))),
            b'J' => Item::Int(i64::from(i32::from_le_bytes(self.take()?))),
            0x8a => {
                let [len] = self.take()?;
                Item::Int(long(self.slice(usize::from(len))?)?)
            }
            _ => {
                self.take::<8>()?;
                Item::Opaque
            }
        };
        self.stack.push(item);
        Ok(())
    }

    fn text(&mut self, code: u8) -> Result<(), PickleError> {
        let len = match code {
            b'X' | b'T' => u32::from_le_bytes(self.take()?) as usize,
            _ => usize::from(u8::from_le_bytes(self.take()?)),
        };
        let text = String::from_utf8_lossy(self.slice(len)?).into_owned();
        self.stack.push(Item::Text(text));
        Ok(())
    }

    /// Stores (PUT) or repeats (GET) a value.
    fn memo(&mut self, code: u8) -> Result<(), PickleError> {
        let key = match code {
            b'q' | b'h' => u32::from(u8::from_le_bytes(self.take()?)),
            b'r' | b'j' => u32::from_le_bytes(self.take()?),
            _ => self.memo.len() as u32,
        };
        if matches!(code, b'h' | b'j') {
            let item = self.memo.get(&key).ok_or(PickleError::Damaged)?.clone();
            self.stack.push(item);
        } else {
            let item = self.stack.last().ok_or(PickleError::Damaged)?.repeatable();
            self.memo.insert(key, item);
        }
        Ok(())
    }

    fn global(&mut self, code: u8) -> Result<(), PickleError> {
        let name = if code == b'c' {
            let module = self.line()?;
            format!("{module}.{}", self.line()?)
        } else {
            match self.last(2)?.as_slice() {
                [Item::Text(module), Item::Text(name)] => format!("{module}.{name}"),
                _ => return Err(PickleError::Damaged),
            }
        };
        self.stack.push(Item::Global(name));
        Ok(())
    }

    /// `("storage", type, key, device, size)` names a storage.
    fn persistent(&mut self) -> Result<(), PickleError> {
        let item = match self.pop()? {
            Item::List(items) => match items.as_slice() {
                [_, Item::Global(kind), Item::Text(key), ..] => {
                    Item::Storage(key.clone(), precision(kind))
                }
                _ => return Err(PickleError::Damaged),
            },
            _ => return Err(PickleError::Damaged),
        };
        self.stack.push(item);
        Ok(())
    }

    /// Applies a constructor to its arguments.
    fn construct(&mut self) -> Result<(), PickleError> {
        let arguments = self.pop()?;
        let constructor = self.pop()?;
        let (Item::Global(name), Item::List(arguments)) = (constructor, arguments) else {
            return Err(PickleError::Damaged);
        };
        let item = match name.as_str() {
            "collections.OrderedDict" => Item::Dict(Vec::new()),
            "torch._utils._rebuild_tensor_v2" => tensor(&arguments).ok_or(PickleError::Damaged)?,
            "torch._utils._rebuild_parameter" => {
                arguments.into_iter().next().ok_or(PickleError::Damaged)?
            }
            _ => Item::Opaque,
        };
        self.stack.push(item);
        Ok(())
    }

    fn extend_list(&mut self, items: Vec<Item>) -> Result<(), PickleError> {
        match self.stack.last_mut() {
            Some(Item::List(list)) => list.extend(items),
            Some(Item::Opaque) => {}
            _ => return Err(PickleError::Damaged),
        }
        Ok(())
    }

    fn extend_dict(&mut self, items: Vec<Item>) -> Result<(), PickleError> {
        match self.stack.last_mut() {
            Some(Item::Dict(dict)) => {
                let mut items = items.into_iter();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    dict.push((key, value));
                }
            }
            Some(Item::Opaque) => {}
            _ => return Err(PickleError::Damaged),
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<Item, PickleError> {
        self.stack.pop().ok_or(PickleError::Damaged)
    }

    /// The topmost `n` values, bottom first.
    fn last(&mut self, n: usize) -> Result<Vec<Item>, PickleError> {
        let at = self
            .stack
            .len()
            .checked_sub(n)
            .ok_or(PickleError::Damaged)?;
        Ok(self.stack.split_off(at))
    }

    /// The values above the topmost mark, which goes too.
    fn above_mark(&mut self) -> Result<Vec<Item>, PickleError> {
        let mark = self
            .stack
            .iter()
            .rposition(|item| matches!(item, Item::Mark));
        let items = self.stack.split_off(mark.ok_or(PickleError::Damaged)? + 1);
        self.stack.pop();
        Ok(items)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], PickleError> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(PickleError::Damaged)?;
        self.rest = rest;
        Ok(*head)
    }

    fn slice(&mut self, len: usize) -> Result<&'a [u8], PickleError> {
        let (head, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(PickleError::Damaged)?;
        self.rest = rest;
        Ok(head)
    }

    /// Text up to a line feed, which goes too.
    fn line(&mut self) -> Result<String, PickleError> {
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let line = self.slice(end.ok_or(PickleError::Damaged)?)?;
        self.take::<1>()?;
        Ok(String::from_utf8_lossy(line).into_owned())
    }
}

/// A little-endian two's complement number of up to 8 bytes.
fn long(bytes: &[u8]) -> Result<i64, PickleError> {
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut whole = [if negative { 0xff } else { 0 }; 8];
    whole
        .get_mut(..bytes.len())
        .ok_or(PickleError::Damaged)?
        .copy_from_slice(bytes);
    Ok(i64::from_le_bytes(whole))
}

/// `_rebuild_tensor_v2(storage, offset, shape, strides, …)`.
fn tensor(arguments: &[Item]) -> Option<Item> {
    let [
        Item::Storage(storage, precision),
        Item::Int(offset),
        Item::List(shape),
        Item::List(strides),
        ..,
    ] = arguments
    else {
        return None;
    };
    Some(Item::Tensor(Tensor {
        storage: storage.clone(),
        precision: *precision,
        offset: usize::try_from(*offset).ok()?,
        shape: sizes(shape)?,
        strides: sizes(strides)?,
    }))
}

fn sizes(items: &[Item]) -> Option<Vec<usize>> {
    items
        .iter()
        .map(|item| match item {
            Item::Int(n) => usize::try_from(*n).ok(),
            _ => None,
        })
        .collect()
}

/// The precision of a storage type such as `torch.FloatStorage`.
fn precision(kind: &str) -> Precision {
    match kind {
        "torch.DoubleStorage" => Precision::F64,
        "torch.FloatStorage" => Precision::F32,
        "torch.HalfStorage" => Precision::F16,
        "torch.BFloat16Storage" => Precision::Bf16,
        "torch.IntStorage" => Precision::Other(4),
        "torch.ShortStorage" => Precision::Other(2),
        "torch.ByteStorage" | "torch.CharStorage" | "torch.BoolStorage" => Precision::Other(1),
        _ => Precision::Other(8),
    }
}
