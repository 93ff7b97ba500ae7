//! Attention of the tokens of one text to each other.

use crate::kernel::{Kernel, PANEL, Panel};

/// Buffers of one head, which the heads and texts of a batch use one after the other.
#[derive(Debug, Default)]
pub struct Attention {
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
}

impl Attention {
    /// Mix the values of the tokens by the likeness of queries and keys.
    ///
    /// `joined` has a row for each token: its queries of all heads, then its keys, then its values. The queries are
    /// already divided by the root of the width of a head. `mixed` gets a row of all heads for each token. A head is as
    /// wide as a panel.
    pub fn mix(&mut self, kernel: Kernel, joined: &[f32], heads: usize, mixed: &mut [f32]) {
        let width = heads * PANEL;
        let stride = 3 * width;
        let tokens = joined.len() / stride;
        if tokens == 0 {
            return;
        }
        let padded = tokens.next_multiple_of(PANEL);
        // Keys beyond the last token stay 0; the softmax leaves their scores out.
        self.keys.clear();
        self.keys.resize(padded * PANEL, 0.0);
        self.values.resize(tokens * PANEL, 0.0);
        self.scores.resize(tokens * padded, 0.0);
        for head in 0..heads {
            let (query, key, value) = (head * PANEL, width + head * PANEL, 2 * width + head * PANEL);
            for (token, row) in joined.chunks_exact(stride).enumerate() {
                let panel = &mut self.keys[token / PANEL * PANEL * PANEL..];
                for (component, value) in row[key..key + PANEL].iter().enumerate() {
                    panel[component * PANEL + token % PANEL] = *value;
                }
                self.values[token * PANEL..(token + 1) * PANEL].copy_from_slice(&row[value..value + PANEL]);
            }
            for (number, panel) in self.keys.chunks_exact(PANEL * PANEL).enumerate() {
                let scores = &mut self.scores[number * PANEL..];
                kernel.multiply(&joined[query..], stride, Panel::Singles(panel), &[0.0; PANEL], scores, padded, tokens);
            }
            for row in self.scores.chunks_exact_mut(padded) {
                kernel.softmax(&mut row[..tokens]);
            }
            let heads_mixed = &mut mixed[query..];
            kernel.multiply(
                &self.scores,
                padded,
                Panel::Singles(&self.values),
                &[0.0; PANEL],
                heads_mixed,
                width,
                tokens,
            );
        }
    }
}
