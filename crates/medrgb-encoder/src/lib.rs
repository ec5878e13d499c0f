//! Text encoders of the BERT family: a Hugging Face folder in, embeddings out.
