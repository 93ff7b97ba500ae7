//! Splits text into code spans between backticks and the text around them.
//!
//! No other Markdown is recognised. A span opens with one, two, or at least three backticks and closes with the same
//! number of backticks. A span without an end is text. Invariant: the concatenated spans equal the text, in linear
//! time.

/// A span of text, or of code including its backticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span<'a> {
    Text(&'a str),
    Code(&'a str),
}

/// Splits text at its code spans.
pub(super) fn spans(text: &str) -> Spans<'_> {
    Spans { rest: text, code: None, unclosed: [false; 3] }
}

/// The iterator behind [`spans`].
pub(super) struct Spans<'a> {
    rest: &'a str,
    code: Option<&'a str>,
    // Fences known to have no end in the rest of the text. Otherwise a text of backticks would take quadratic time.
    unclosed: [bool; 3],
}

impl<'a> Iterator for Spans<'a> {
    type Item = Span<'a>;

    fn next(&mut self) -> Option<Span<'a>> {
        if let Some(code) = self.code.take() {
            return Some(Span::Code(code));
        }
        let mut from = 0;
        while let Some(found) = self.rest[from..].find('`') {
            let start = from + found;
            let ticks = self.rest[start..].bytes().take_while(|&b| b == b'`').count();
            let fence = &"```"[..ticks.min(3)];
            let body = start + ticks;
            if !self.unclosed[fence.len() - 1] {
                if let Some(end) = self.rest[body..].find(fence) {
                    let mut after = body + end + fence.len();
                    // All backticks of a longer run belong to the span.
                    after += self.rest[after..].bytes().take_while(|&b| b == b'`').count();
                    let (text, code) = (&self.rest[..start], &self.rest[start..after]);
                    self.rest = &self.rest[after..];
                    if text.is_empty() {
                        return Some(Span::Code(code));
                    }
                    self.code = Some(code);
                    return Some(Span::Text(text));
                }
                self.unclosed[fence.len() - 1] = true;
            }
            from = body;
        }
        let text = std::mem::take(&mut self.rest);
        (!text.is_empty()).then_some(Span::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn code_span_closes_with_the_same_number_of_backticks() {
        let cut: Vec<_> = spans("a `b` c ```\nd `e`\n``` `` f`g `` `h").collect();
        let expected = [
            Span::Text("a "),
            Span::Code("`b`"),
            Span::Text(" c "),
            Span::Code("```\nd `e`\n```"),
            Span::Text(" "),
            Span::Code("`` f`g ``"),
            Span::Text(" `h"),
        ];
        assert_eq!(cut, expected);
    }

    proptest! {
        #[test]
        fn concatenated_spans_equal_the_text(text in "[`a \n]{0,40}") {
            let joined: String = spans(&text).map(|span| match span { Span::Text(s) | Span::Code(s) => s }).collect();
            prop_assert_eq!(joined, text);
        }
    }
}
