
mod score;
