//! Tests that every link of a saved graph leads to a node: usearch follows them without looking, so that a wrong
//! one would read outside of its memory.
//!
//! usearch's format, version 2: number of rows and bytes of a row (u32 each), the rows (here positions, u64), a
//! head of 64 bytes, five numbers (u64: nodes, M, M of level 0, highest level, entry), the level of each node
//! (i16), then each node: key (u64), level (i16), and for each level the number of neighbours and room for as many
//! as there may be (u32 each).

/// Bytes of usearch's head behind the rows.
const HEAD: usize = 64;
/// Neighbours of a node at most; more are no graph of ours.
const MOST_NEIGHBOURS: u64 = 4096;

/// Looks at all of a graph of so many nodes.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn check(bytes: &[u8], nodes: usize) -> Result<(), String> {
    let mut reader = Reader { bytes, at: 0 };
    let (rows, row) = (reader.u32()?, reader.u32()?);
    if rows as usize != nodes || row != 8 {
        return Err(format!(
            "it holds {rows} rows of {row} bytes, not {nodes} of 8"
        ));
    }
    let positions = reader.take(nodes.checked_mul(8).ok_or("it is too large")?)?;
    reader.take(HEAD)?;
    let [count, connectivity, base, highest, entry] = reader.numbers()?;
    if count != nodes as u64 || connectivity > MOST_NEIGHBOURS || base > MOST_NEIGHBOURS {
        return Err("its sizes do not fit together".into());
    }
    if nodes == 0 {
        return Ok(());
    }
    let levels = reader.take(nodes * 2)?.as_chunks::<2>().0;
    let level = |node: usize| levels.get(node).map(|&bytes| i16::from_le_bytes(bytes));
    let reachable = usize::try_from(entry).ok().and_then(level);
    if !reachable.is_some_and(|level| i64::from(level) >= 0 && highest <= level as u64) {
        return Err("its entry is no node of the highest level".into());
    }
    for (node, position) in positions.as_chunks::<8>().0.iter().enumerate() {
        let key = reader.take(8)?;
        let own = i16::from_le_bytes(reader.array()?);
        if key != position || u64::from_le_bytes(*position) >= nodes as u64 {
            return Err(format!("node {node} stands for no vector"));
        }
        if own < 0 || Some(own) != level(node) {
            return Err(format!("node {node} has the level {own}"));
        }
        for at in 0..=own {
            let room = if at == 0 { base } else { connectivity };
            let linked = u64::from(reader.u32()?);
            let links = reader.take(room as usize * 4)?.as_chunks::<4>().0;
            let leads = |link: &[u8; 4]| level(u32::from_le_bytes(*link) as usize) >= Some(at);
            let used = links.get(..linked as usize);
            if !used.is_some_and(|links| links.iter().all(leads)) {
                return Err(format!("a link of node {node} leads nowhere"));
            }
        }
    }
    Ok(())
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(length);
        let part = end.and_then(|end| self.bytes.get(self.at..end));
        self.at = self.at.saturating_add(length);
        part.ok_or_else(|| "it is cut off".to_owned())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let part = self.take(N)?;
        Ok(std::array::from_fn(|i| part[i]))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn numbers<const N: usize>(&mut self) -> Result<[u64; N], String> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u64::from_le_bytes(self.array()?);
        }
        Ok(numbers)
    }
}
