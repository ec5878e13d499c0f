//! Properties of a collection: what this program notes in it.

use super::Collection;
use crate::retrieval::RetrievalError;
use crate::retrieval::remote::client::{CallError, QUICK};
use crate::retrieval::remote::values::pair;
use crate::retrieval::remote::wire;

impl Collection {
    /// The properties of the collection; none where there is no collection.
    ///
    /// # Errors
    /// When the server can't be asked, or the collection is not ours.
    pub(in crate::retrieval::remote) fn properties(
        &self,
    ) -> Result<Vec<wire::KeyValue>, RetrievalError> {
        Ok(self
            .described()?
            .map_or_else(Vec::new, |described| described.properties))
    }

    /// Sets a property, which the server keeps with the collection. Not every user may.
    ///
    /// # Errors
    /// When the server can't be reached or refuses.
    pub(in crate::retrieval::remote) fn set_property(
        &self,
        name: &str,
        value: &str,
    ) -> Result<(), CallError> {
        self.alter(wire::AlterCollection {
            properties: vec![pair(name, value)],
            ..wire::AlterCollection::default()
        })
    }

    /// Takes a property back. Servers before 2.5 can't: for them its value is emptied first.
    ///
    /// # Errors
    /// When the server can't be reached or refuses.
    pub(in crate::retrieval::remote) fn forget_property(
        &self,
        name: &str,
    ) -> Result<(), CallError> {
        self.set_property(name, "")?;
        // One that stays is empty.
        let _ = self.alter(wire::AlterCollection {
            deleted: vec![name.to_owned()],
            ..wire::AlterCollection::default()
        });
        Ok(())
    }

    fn alter(&self, request: wire::AlterCollection) -> Result<(), CallError> {
        let request = wire::AlterCollection {
            database: self.address.database.clone(),
            collection: self.address.collection.clone(),
            ..request
        };
        let _: wire::Status = self.client.call(
            "/milvus.proto.milvus.MilvusService/AlterCollection",
            &format!("nothing can be noted in {}", self.place()),
            request,
            QUICK,
        )?;
        Ok(())
    }
}
