//! Forward pass of all-MiniLM-L6-v2: token ids in, vectors of length 1 out.
//!
//! The rows of a batch are the tokens of all its texts, one after the other, so that no text is padded. Each product
//! with weights serves all of them; only the attention treats the texts one by one.

use std::path::Path;

use crate::attention::Attention;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Level, PANEL};
use crate::matrix::{Activation, Matrix, multiply};
use crate::weights::{Halves, Header, Weights};

/// Length of a vector.
const WIDTH: usize = 384;
/// Length of the vector inside of a layer.
const INNER: usize = 4 * WIDTH;
const LAYERS: usize = 6;
const HEADS: usize = WIDTH / PANEL;
/// Most tokens of a text.
const POSITIONS: usize = 512;

/// A loaded model. Several threads may use it at the same time.
#[derive(Debug)]
pub struct Encoder {
    weights: Weights,
    kernel: Kernel,
    vocabulary: usize,
    words: Halves,
    positions: Halves,
    norm: Norm,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    /// Queries, keys and values of all heads. The division of the scores by the root of a head's width is part of it.
    joined: Linear,
    attended: Linear,
    attended_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
}

#[derive(Debug)]
struct Linear {
    values: Halves,
    bias: Vec<f32>,
    rows: usize,
}

#[derive(Debug)]
struct Norm {
    gain: Vec<f32>,
    shift: Vec<f32>,
}

/// Activations of a batch.
#[derive(Debug, Default)]
struct Buffers {
    hidden: Vec<f32>,
    /// Holds the inner activations as well, which are wider.
    joined: Vec<f32>,
    mixed: Vec<f32>,
    sums: Vec<f32>,
    panel: Vec<f32>,
    attention: Attention,
}

impl Encoder {
    /// Map a file of weights and use the given level, or the best one if the processor lacks it.
    pub fn open(path: &Path, level: Level) -> Result<Self> {
        let weights = Weights::open(path)?;
        let (vocabulary, words, positions, norm, layers) = weights.read(|header| {
            let vocabulary = header.rows("words")?;
            let layers = (0..LAYERS).map(|number| Layer::read(header, number)).collect::<Result<Vec<_>>>()?;
            let words = header.halves("words", &[vocabulary, WIDTH])?;
            let positions = header.halves("positions", &[POSITIONS, WIDTH])?;
            Ok((vocabulary, words, positions, Norm::read(header, "embedded")?, layers))
        })?;
        Ok(Self { weights, kernel: Kernel::new(level), vocabulary, words, positions, norm, layers })
    }

    /// Instructions of the processor that are used.
    pub fn level(&self) -> Level {
        self.kernel.level()
    }

    /// Length of a vector.
    pub fn dimension(&self) -> usize {
        WIDTH
    }

    /// Embed a batch of texts, given as token ids with the two that frame each text.
    ///
    /// Returns one row of length 1 for each text, one after the other. A text without tokens gets zeros.
    pub fn embed<T: AsRef<[u32]>>(&self, texts: &[T]) -> Result<Vec<f32>> {
        let mut buffers = Buffers::default();
        self.look_up(texts, &mut buffers)?;
        let mut vectors = vec![0.0; texts.len() * WIDTH];
        if buffers.hidden.is_empty() {
            return Ok(vectors);
        }
        for layer in &self.layers {
            self.run(layer, texts, &mut buffers);
        }
        let mut rows = buffers.hidden.chunks_exact(WIDTH);
        for (text, vector) in texts.iter().zip(vectors.chunks_exact_mut(WIDTH)) {
            for row in rows.by_ref().take(text.as_ref().len()) {
                for (sum, value) in vector.iter_mut().zip(row) {
                    *sum += value;
                }
            }
            // The mean has the same direction as the sum.
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            if length > 0.0 {
                for value in vector {
                    *value /= length;
                }
            }
        }
        Ok(vectors)
    }

    /// Fill the hidden rows with words and positions.
    fn look_up<T: AsRef<[u32]>>(&self, texts: &[T], buffers: &mut Buffers) -> Result<()> {
        let words = self.weights.halves(&self.words);
        let positions = self.weights.halves(&self.positions);
        let mut word = [0.0; WIDTH];
        for text in texts {
            let text = text.as_ref();
            if text.len() > POSITIONS {
                return Err(Error::TooLong { tokens: text.len(), limit: POSITIONS });
            }
            for (position, id) in text.iter().enumerate() {
                let at = *id as usize;
                if at >= self.vocabulary {
                    return Err(Error::UnknownToken { id: *id, size: self.vocabulary });
                }
                let start = buffers.hidden.len();
                buffers.hidden.resize(start + WIDTH, 0.0);
                let row = &mut buffers.hidden[start..];
                self.kernel.widen(&words[at * WIDTH..(at + 1) * WIDTH], &mut word);
                self.kernel.widen(&positions[position * WIDTH..(position + 1) * WIDTH], row);
                self.kernel.add_and_normalise(row, &word, &self.norm.gain, &self.norm.shift);
            }
        }
        Ok(())
    }

    /// Run one layer over all rows.
    fn run<T: AsRef<[u32]>>(&self, layer: &Layer, texts: &[T], buffers: &mut Buffers) {
        let Buffers { hidden, joined, mixed, sums, panel, attention } = buffers;
        let rows = hidden.len() / WIDTH;
        sums.resize(rows * WIDTH, 0.0);
        mixed.resize(rows * WIDTH, 0.0);

        joined.resize(rows * 3 * WIDTH, 0.0);
        self.multiply(hidden, &layer.joined, Activation::None, panel, joined);
        let mut start = 0;
        for text in texts {
            let end = start + text.as_ref().len();
            let texts_rows = &joined[start * 3 * WIDTH..end * 3 * WIDTH];
            attention.mix(self.kernel, texts_rows, HEADS, &mut mixed[start * WIDTH..end * WIDTH]);
            start = end;
        }
        self.multiply(mixed, &layer.attended, Activation::None, panel, sums);
        self.add_and_normalise(hidden, sums, &layer.attended_norm);

        joined.resize(rows * INNER, 0.0);
        self.multiply(hidden, &layer.inner, Activation::Gelu, panel, joined);
        self.multiply(joined, &layer.outer, Activation::None, panel, sums);
        self.add_and_normalise(hidden, sums, &layer.norm);
    }

    fn multiply(
        &self,
        source: &[f32],
        linear: &Linear,
        activation: Activation,
        panel: &mut Vec<f32>,
        target: &mut [f32],
    ) {
        let values = self.weights.halves(&linear.values);
        let matrix = Matrix { values, rows: linear.rows, columns: linear.bias.len() };
        multiply(self.kernel, source, matrix, &linear.bias, activation, panel, target);
    }

    fn add_and_normalise(&self, hidden: &mut [f32], sums: &[f32], norm: &Norm) {
        for (row, sums) in hidden.chunks_exact_mut(WIDTH).zip(sums.chunks_exact(WIDTH)) {
            self.kernel.add_and_normalise(row, sums, &norm.gain, &norm.shift);
        }
    }
}

impl Layer {
    fn read(header: &Header<'_>, number: usize) -> Result<Self> {
        let name = |part| format!("layer.{number}.{part}");
        Ok(Self {
            joined: Linear::read(header, &name("joined"), WIDTH, 3 * WIDTH)?,
            attended: Linear::read(header, &name("attended"), WIDTH, WIDTH)?,
            attended_norm: Norm::read(header, &name("attended"))?,
            inner: Linear::read(header, &name("inner"), WIDTH, INNER)?,
            outer: Linear::read(header, &name("outer"), INNER, WIDTH)?,
            norm: Norm::read(header, &name("outer"))?,
        })
    }
}

impl Linear {
    fn read(header: &Header<'_>, name: &str, rows: usize, columns: usize) -> Result<Self> {
        Ok(Self {
            values: header.halves(&format!("{name}.weight"), &[columns / PANEL, rows, PANEL])?,
            bias: header.singles(&format!("{name}.bias"), columns)?,
            rows,
        })
    }
}

impl Norm {
    fn read(header: &Header<'_>, name: &str) -> Result<Self> {
        let read = |part| header.singles(&format!("{name}.{part}"), WIDTH);
        Ok(Self { gain: read("gain")?, shift: read("shift")? })
    }
}
