//! Random texts over a small vocabulary, and their vectors.

use crate::support::Random;

const WORDS: [&str; 24] = [
    "lantern", "harbour", "copper", "window", "gravel", "orchard", "velvet", "thunder", "pebble", "meadow", "anchor",
    "kettle", "saddle", "marble", "willow", "basket", "candle", "feather", "hammer", "island", "jacket", "ladder",
    "mirror", "needle",
];
const NAMES: [&str; 4] = ["retryLimit", "parse_config", "HTTPServer", "E4711"];
/// Words of time that a text may contain. No other word is one.
pub const TIMES: [&str; 4] = ["yesterday", "Monday", "2024", "2026-11-09"];
/// Names of speakers. The last three are not names of persons, and a query that contains them names no speaker.
pub const SPEAKERS: [&str; 5] = ["Ada", "Bo Miller", "user", "Assistant", "bot"];
pub const PERSONS: usize = 2;
/// Words of a chunk.
const CHUNK: usize = 10;

pub fn phrase(random: &mut Random, least: usize, most: usize) -> String {
    let mut words: Vec<&str> =
        (0..least + random.below(most - least)).map(|_| WORDS[random.below(WORDS.len())]).collect();
    if random.below(3) == 0 {
        words.push(NAMES[random.below(NAMES.len())]);
    }
    words.join(" ")
}

/// A text of a turn. It may be a question, name a time, or be longer than a text that counts as short. Dashes count as
/// words of the text, but are no terms.
pub fn turn(random: &mut Random) -> String {
    let mut text = phrase(random, 2, 14);
    if random.below(4) == 0 {
        text = format!("{text} {}", TIMES[random.below(TIMES.len())]);
    }
    if random.below(4) == 0 {
        text = format!("{text}{}", " -".repeat(random.below(80)));
    }
    text
}

/// The parts of a text that are embedded, each by itself.
pub fn chunks(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "-").collect();
    words.chunks(CHUNK).map(|words| words.join(" ")).collect()
}

/// A unit vector that depends only on the text. Vectors of many dimensions are nearly orthogonal, so their cosines stay
/// below the floor.
pub fn vector(text: &str, dimension: usize) -> Vec<f32> {
    let seed = text
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |seed: u64, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    let mut random = Random(seed);
    let raw: Vec<f32> = (0..dimension).map(|_| random.next() as f32 / u64::MAX as f32 - 0.5).collect();
    let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.iter().map(|value| value / length).collect()
}
