//! One collection on a server: made, filled, counted, searched, dropped.

mod properties;

use std::time::{Duration, Instant};

use crate::retrieval::RetrievalError;
use crate::retrieval::remote::address::{Address, Token};
use crate::retrieval::remote::client::{CallError, Client, QUICK, SLOW};
use crate::retrieval::remote::record::Record;
use crate::retrieval::remote::shape::{
    CONTENT, Facts, ID, Near, Row, TITLE, VECTOR, fields, near, one_by_one,
};
use crate::retrieval::remote::standing::{Standing, unfinished};
use crate::retrieval::remote::values::{pair, placeholders, take_number, texts, value_of, vectors};
use crate::retrieval::remote::wire::{self, consistency};

/// Hits of a search at most: Milvus's limit.
pub const MOST_HITS: usize = 16_384;

const COUNT: &str = "count(*)";
const METRIC: &str = "IP";

/// What a server says of a collection.
struct Described {
    record: Record,
    shards: i32,
    properties: Vec<wire::KeyValue>,
}

/// A collection, there or to be made.
#[derive(Debug)]
pub struct Collection {
    client: Client,
    address: Address,
}

impl Collection {
    /// The collection of an address. Nothing is asked of the server yet.
    ///
    /// # Errors
    /// When the system gives no thread, or encryption is asked for and this machine has no root certificates.
    pub fn new(address: &Address, token: Option<&Token>) -> Result<Collection, RetrievalError> {
        Ok(Collection {
            client: Client::new(address, token)?,
            address: address.clone(),
        })
    }

    /// The address, as messages name it.
    pub fn place(&self) -> String {
        format!("the remote index {}", self.address)
    }

    /// Where it lies.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The record of the collection; `None` where there is no collection.
    ///
    /// # Errors
    /// When the server can't be asked, or the collection is not ours.
    pub fn record(&self) -> Result<Option<Record>, RetrievalError> {
        Ok(self.described()?.map(|described| described.record))
    }

    /// The record of the collection with the pushes that were stopped before their end; `None` where there is no
    /// collection.
    ///
    /// # Errors
    /// As [`Collection::record`].
    pub fn record_and_pushes(&self) -> Result<Option<(Record, Vec<Standing>)>, RetrievalError> {
        let described = self.described()?;
        Ok(described.map(|found| (found.record, unfinished(&found.properties))))
    }

    fn described(&self) -> Result<Option<Described>, RetrievalError> {
        let answer: Result<wire::Described, CallError> = self.client.call(
            "/milvus.proto.milvus.MilvusService/DescribeCollection",
            &format!("{} can't be looked up", self.place()),
            self.of_collection(),
            QUICK,
        );
        let described = match answer {
            Err(error) if error.missing => return Ok(None),
            answer => answer?,
        };
        let schema = described.schema.unwrap_or_default();
        let record = Record::read(&described.properties, &schema.description, &self.place())?;
        Ok(Some(Described {
            record,
            shards: described.shards,
            properties: described.properties,
        }))
    }

    /// What the server calls itself, such as `milvus_lite-3.2.2`.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub fn server_version(&self) -> Result<String, RetrievalError> {
        let answer: wire::Versioned = self.client.call(
            "/milvus.proto.milvus.MilvusService/GetVersion",
            &format!("the version of {} can't be asked", self.address.server()),
            (),
            QUICK,
        )?;
        Ok(answer.version)
    }

    /// Makes the collection and its index. `shards` take writes in parallel; `None` leaves their number to the
    /// server.
    ///
    /// # Errors
    /// When the server refuses, for example a float16 field on milvus-lite, or a name that is taken.
    pub fn create(&self, record: &Record, shards: Option<u16>) -> Result<(), RetrievalError> {
        let (description, property) = record.written()?;
        let schema = wire::CollectionSchema {
            name: self.address.collection.clone(),
            description,
            fields: fields(record),
        };
        let request = wire::CreateCollection {
            database: self.address.database.clone(),
            collection: self.address.collection.clone(),
            schema: prost::Message::encode_to_vec(&schema),
            shards: shards.map_or(0, i32::from),
            consistency: consistency::BOUNDED,
            properties: vec![property],
        };
        let _: wire::Status = self.client.call(
            "/milvus.proto.milvus.MilvusService/CreateCollection",
            &format!("{} can't be made", self.place()),
            request,
            SLOW,
        )?;
        if let Err(error) = self.ensure_index(record) {
            // Half a collection would only be in the way of the next attempt.
            let _ = self.remove();
            return Err(error);
        }
        Ok(())
    }

    /// Makes the index where there is none, as after a push that was killed between the two.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn ensure_index(&self, record: &Record) -> Result<(), RetrievalError> {
        if self.index_params()?.is_some() {
            return Ok(());
        }
        let request = wire::CreateIndex {
            database: self.address.database.clone(),
            collection: self.address.collection.clone(),
            field: VECTOR.into(),
            params: vec![
                pair("index_type", record.index.name()),
                pair("metric_type", METRIC),
                pair("params", record.index.build_params()),
            ],
            name: VECTOR.into(),
        };
        let _: wire::Status = self.client.call(
            "/milvus.proto.milvus.MilvusService/CreateIndex",
            &format!("the index of {} can't be made", self.place()),
            request,
            SLOW,
        )?;
        Ok(())
    }

    /// What the server says about the index; `None` where there is none.
    fn index_params(&self) -> Result<Option<Vec<wire::KeyValue>>, RetrievalError> {
        let answer: Result<wire::DescribedIndexes, CallError> = self.client.call(
            "/milvus.proto.milvus.MilvusService/DescribeIndex",
            &format!("the index of {} can't be looked up", self.place()),
            self.of_collection(),
            QUICK,
        );
        let described = match answer {
            Err(error) if error.missing => return Ok(None),
            answer => answer?,
        };
        let mut indexes = described.indexes.into_iter();
        let index = indexes.find(|index| index.field == VECTOR);
        Ok(index.map(|index| index.params))
    }

    /// Loads the collection into the memory of the machines that search it and waits until it is there;
    /// `wait` is called about twice a second and may give up.
    ///
    /// # Errors
    /// When the server refuses (too little memory), or `wait` says stop.
    pub fn load(
        &self,
        replicas: u16,
        wait: &mut dyn FnMut(Duration) -> std::ops::ControlFlow<()>,
    ) -> Result<(), RetrievalError> {
        let what = format!("{} can't be loaded", self.place());
        let request = wire::Load {
            database: self.address.database.clone(),
            collection: self.address.collection.clone(),
            replicas: i32::from(replicas),
        };
        let _: wire::Status = self.client.call(
            "/milvus.proto.milvus.MilvusService/LoadCollection",
            &what,
            request,
            SLOW,
        )?;
        let started = Instant::now();
        while !self.is_loaded(&what)? {
            if wait(started.elapsed()).is_break() {
                return Err(RetrievalError(format!(
                    "{} is not in the server's memory yet after {} s; try again in a while",
                    self.place(),
                    started.elapsed().as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }

    fn is_loaded(&self, what: &str) -> Result<bool, RetrievalError> {
        let request = wire::GetLoadState {
            collection: self.address.collection.clone(),
            database: self.address.database.clone(),
        };
        let answer: wire::LoadState = self.client.call(
            "/milvus.proto.milvus.MilvusService/GetLoadState",
            what,
            request,
            QUICK,
        )?;
        Ok(answer.state == wire::load_state::LOADED)
    }

    /// Loads the collection where it is not, waiting for it at most `limit`.
    ///
    /// # Errors
    /// As [`Collection::load`].
    pub fn ensure_loaded(&self, limit: Duration) -> Result<(), RetrievalError> {
        if self.is_loaded(&format!("{} can't be asked", self.place()))? {
            return Ok(());
        }
        self.load(1, &mut |waited| {
            if waited < limit {
                std::ops::ControlFlow::Continue(())
            } else {
                std::ops::ControlFlow::Break(())
            }
        })
    }

    /// Writes rows: new ids are added, known ones replaced.
    ///
    /// # Errors
    /// When the server can't be reached or refuses.
    pub fn upsert(&self, rows: &[Row], record: &Record) -> Result<(), CallError> {
        let column = |text: fn(&Row) -> &str| rows.iter().map(|row| text(row).to_owned()).collect();
        let numbers = rows.iter().flat_map(|row| row.vector.iter().copied());
        let request = wire::Upsert {
            database: self.address.database.clone(),
            collection: self.address.collection.clone(),
            fields: vec![
                texts(ID, column(|row| &row.id)),
                texts(TITLE, column(|row| &row.title)),
                texts(CONTENT, column(|row| &row.content)),
                vectors(VECTOR, record.dim, record.precision, numbers.collect()),
            ],
            rows: rows.len() as u32,
        };
        let what = format!("documents can't be written to {}", self.place());
        let answer: wire::Mutated = self.client.call(
            "/milvus.proto.milvus.MilvusService/Upsert",
            &what,
            request,
            SLOW,
        )?;
        if !answer.failed_rows.is_empty() {
            return Err(CallError {
                sentence: format!(
                    "{what}: the server refused {} of {} rows",
                    answer.failed_rows.len(),
                    rows.len()
                ),
                passing: false,
                missing: false,
                unloaded: false,
            });
        }
        Ok(())
    }

    /// Makes the server write to its storage what it holds in memory, which also starts the building of the
    /// index over it.
    ///
    /// # Errors
    /// When the server can't be reached or refuses.
    pub fn flush(&self) -> Result<(), CallError> {
        let request = wire::Flush {
            database: self.address.database.clone(),
            collections: vec![self.address.collection.clone()],
        };
        let _: wire::Answered = self.client.call(
            "/milvus.proto.milvus.MilvusService/Flush",
            &format!("{} can't be made permanent", self.place()),
            request,
            SLOW,
        )?;
        Ok(())
    }

    /// Documents in the collection, all that was written counted. The collection must be loaded.
    ///
    /// # Errors
    /// When the server can't be reached or refuses.
    pub fn count(&self) -> Result<usize, RetrievalError> {
        self.count_where(String::new())
    }

    /// Documents with one of these ids, which have no control characters. The collection must be loaded.
    ///
    /// # Errors
    /// As [`Collection::count`].
    pub fn count_of(&self, ids: &[&str]) -> Result<usize, RetrievalError> {
        // Milvus reads texts in expressions as JSON writes them, but for `\u`.
        let ids = serde_json::to_string(ids).map_err(|error| RetrievalError(error.to_string()))?;
        self.count_where(format!("{ID} in {ids}"))
    }

    fn count_where(&self, expression: String) -> Result<usize, RetrievalError> {
        let request = wire::Query {
            database: self.address.database.clone(),
            collection: self.address.collection.clone(),
            expression,
            output_fields: vec![COUNT.into()],
            consistency: consistency::STRONG,
        };
        let mut answer: wire::Queried = self.client.call(
            "/milvus.proto.milvus.MilvusService/Query",
            &format!("{} can't be counted", self.place()),
            request,
            QUICK,
        )?;
        let count = take_number(&mut answer.fields, COUNT)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Rows in the server's storage, known without loading; replaced ones may count twice for a while.
    fn stored_rows(&self) -> Result<usize, RetrievalError> {
        let answer: wire::Statistics = self.client.call(
            "/milvus.proto.milvus.MilvusService/GetCollectionStatistics",
            &format!("{} can't be counted", self.place()),
            self.of_collection(),
            QUICK,
        )?;
        let rows = value_of(&answer.values, "row_count").and_then(|rows| rows.parse().ok());
        rows.ok_or_else(|| {
            RetrievalError(format!(
                "the Milvus server does not say how many rows {} has",
                self.place()
            ))
        })
    }

    /// The `k` documents whose vectors have the largest inner product with `vector`, best first.
    ///
    /// # Errors
    /// When the vector has another dimension, `k` is above Milvus's limit, or the server does not answer.
    pub fn search(
        &self,
        vector: &[f32],
        k: usize,
        record: &Record,
    ) -> Result<Vec<Near>, RetrievalError> {
        if vector.len() != record.dim {
            return Err(RetrievalError(format!(
                "the query's vector has {} dimensions, those of {} have {}",
                vector.len(),
                self.place(),
                record.dim
            )));
        }
        if k > MOST_HITS {
            return Err(RetrievalError(format!(
                "{k} hits are asked for, but a remote index gives at most {MOST_HITS}: ask for fewer"
            )));
        }
        if k == 0 {
            return Ok(Vec::new());
        }
        // A graph can't look at fewer candidates than it is to give hits.
        let ef = self
            .address
            .ef
            .unwrap_or_else(|| record.index.candidates(k));
        let ef = ef.max(k);
        let request = wire::Search {
            database: self.address.database.clone(),
            collection: self.address.collection.clone(),
            filter: String::new(),
            placeholders: placeholders(record.precision, vector),
            filter_kind: wire::BOOLEAN_EXPRESSION,
            output_fields: [TITLE, CONTENT, VECTOR].map(str::to_owned).to_vec(),
            params: vec![
                pair("anns_field", VECTOR),
                pair("topk", k),
                pair("metric_type", METRIC),
                pair("params", record.index.search_params(ef)),
                pair("round_decimal", -1),
            ],
            queries: 1,
            consistency: 0,
            use_default_consistency: true,
        };
        let ask = |request| {
            self.client.call::<wire::Search, wire::Searched>(
                "/milvus.proto.milvus.MilvusService/Search",
                &format!("{} can't be searched", self.place()),
                request,
                QUICK,
            )
        };
        let answer = match ask(request.clone()) {
            // A server that was started anew has no collection in its memory.
            Err(error) if error.unloaded => {
                self.ensure_loaded(QUICK)?;
                ask(request)?
            }
            answer => answer?,
        };
        near(answer.results.unwrap_or_default(), record.dim)
    }

    /// What the collection is; `None` where there is none.
    ///
    /// # Errors
    /// When the server can't be asked, or the collection is not ours.
    pub fn facts(&self) -> Result<Option<Facts>, RetrievalError> {
        let Some(described) = self.described()? else {
            return Ok(None);
        };
        let record = described.record;
        // Looking at a large collection must not load it.
        let loaded = self.is_loaded(&format!("{} can't be asked", self.place()))?;
        let documents = if loaded {
            self.count()?
        } else {
            self.stored_rows()?
        };
        let params = self.index_params()?.unwrap_or_default();
        let said = |key| value_of(&params, key).unwrap_or("?").to_owned();
        let index_params = match value_of(&params, "params") {
            Some(together) => together.to_owned(),
            None => one_by_one(&params),
        };
        Ok(Some(Facts {
            documents,
            loaded,
            dim: record.dim,
            metric: said("metric_type"),
            index_type: said("index_type"),
            index_params,
            precision: record.precision,
            shards: described.shards,
            encoder: record.encoder,
            weights_sha256: record.weights_sha256,
            tool: record.tool,
            unfinished: unfinished(&described.properties),
        }))
    }

    /// Removes the collection with all its documents. False where there is none.
    ///
    /// # Errors
    /// When the server can't be asked or refuses, or the collection is not ours.
    pub fn drop_collection(&self) -> Result<bool, RetrievalError> {
        if self.described()?.is_none() {
            return Ok(false);
        }
        self.remove()?;
        Ok(true)
    }

    fn remove(&self) -> Result<(), RetrievalError> {
        let _: wire::Status = self.client.call(
            "/milvus.proto.milvus.MilvusService/DropCollection",
            &format!("{} can't be dropped", self.place()),
            self.of_collection(),
            SLOW,
        )?;
        Ok(())
    }

    fn of_collection(&self) -> wire::OfCollection {
        wire::OfCollection {
            database: self.address.database.clone(),
            collection: self.address.collection.clone(),
        }
    }
}
