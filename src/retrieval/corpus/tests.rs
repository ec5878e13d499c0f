//! Every format on a file written by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;

use super::*;

/// Documents as (id, title, content), and bad records.
type Read = (Vec<(String, String, String)>, Vec<BadRecord>);

fn read_as(name: &str, format: Format, bytes: &[u8]) -> Read {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let file = CorpusFile {
        path,
        name: format!("some/{name}"),
        format,
    };
    let (mut documents, mut bad) = (Vec::new(), Vec::new());
    for record in open(&file).unwrap().records {
        match record.unwrap() {
            Record::Document(d) => documents.push((d.id, d.title, d.content)),
            Record::Bad(record) => bad.push(record),
            Record::Deleted { id, .. } => documents.push((id, "deleted".into(), String::new())),
        }
    }
    (documents, bad)
}

/// Reads the bytes as they are and packed: both must be the same.
fn read(name: &str, format: Format, bytes: &[u8]) -> Read {
    let plain = read_as(name, format, bytes);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    let packed = read_as(&format!("{name}.gz"), format, &packed.finish().unwrap());
    assert_eq!(packed.0, plain.0);
    assert_eq!(packed.1.len(), plain.1.len());
    plain
}

fn document(id: &str, title: &str, content: &str) -> (String, String, String) {
    (id.into(), title.into(), content.into())
}

#[test]
fn medrag_chunks() {
    let text = r#"{"id": "InternalMed_Harrison_0", "title": "InternalMed_Harrison", "content": "A part.", "contents": "InternalMed_Harrison. A part."}
{"id": 17, "title": null, "content": "By number.", "PMID": 17}

{"title": "no id", "content": "x"}
{"id": "c", "contents": "Only contents."}
{"id": "d", "title": "nothing else"}
"#;
    let (documents, bad) = read("harrison.jsonl", Format::MedRag, text.as_bytes());
    assert_eq!(
        documents,
        [
            document("InternalMed_Harrison_0", "InternalMed_Harrison", "A part."),
            document("17", "", "By number."),
            document("c", "", "Only contents."),
        ]
    );
    let said: Vec<String> = bad.iter().map(BadRecord::to_string).collect();
    assert_eq!(
        said,
        [
            "some/harrison.jsonl, line 4: there is no field \"id\"",
            "some/harrison.jsonl, line 6: there is no field \"content\"",
        ]
    );
}

#[test]
fn beir_corpora() {
    let text = "\u{feff}{\"_id\": \"4983\", \"title\": \"T\", \"text\": \"Body\", \"metadata\": {}}\r\n{\"_id\": \"\", \"text\": \"x\"}\nnonsense\n{\"_id\":\"5\",\"text\":\"\"}";
    let (documents, bad) = read("corpus.jsonl", Format::Beir, text.as_bytes());
    assert_eq!(
        documents,
        [document("4983", "T", "Body"), document("5", "", "")]
    );
    assert_eq!(bad.len(), 2);
    assert_eq!(bad[0].sentence, "its id is empty");
    assert!(bad[1].sentence.starts_with("not a record"), "{bad:?}");
}

#[test]
fn wikipedia_paragraphs() {
    let text = r#"{"id": "12_3", "title": "Heart", "text": "The heart pumps.\nBlood."}
{"_id": "9", "wikipedia_title": "Lung", "text": ["First.\n", " ", "Third."]}
{"id": "10", "title": "Skin", "text": 5}
{"id": "11", "title": "Bone", "text": [" ", ""]}
{"id": "12", "title": "Gut", "text": []}
"#;
    let (documents, bad) = read("wiki.jsonl", Format::Wikipedia, text.as_bytes());
    assert_eq!(
        documents,
        [
            document("12_3", "Heart", "The heart pumps.\nBlood."),
            document("9_0", "Lung", "First."),
            document("9_2", "Lung", "Third."),
        ]
    );
    assert!(
        bad[0].sentence.contains("a text or a list of texts"),
        "{bad:?}"
    );
    for record in &bad[1..] {
        assert_eq!(record.sentence, "its list of texts holds none");
    }
    assert_eq!(bad.len(), 3);
}

#[test]
fn sections_deep_in_each_other_and_long_titles_are_bounded() {
    let nested = |depth: usize, inner: &str| {
        let (open, close) = ("<sec>".repeat(depth), "</sec>".repeat(depth));
        format!("<article><body>{open}{inner}{close}</body></article>")
    };
    let deep = nested(200_000, "<p>deep</p>");
    let (documents, bad) = read_as("deep.nxml", Format::StatPearls, deep.as_bytes());
    assert!(documents.is_empty());
    assert!(bad[0].sentence.contains("more than 256 deep"), "{bad:?}");
    let long = nested(3, &format!("<title>{}</title><p>A.</p>", "ä".repeat(9_000)));
    let (documents, _) = read("long.nxml", Format::StatPearls, long.as_bytes());
    assert_eq!(documents[0].1, format!("{}…", "ä".repeat(500)));
}

const PUBMED: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2026//EN" "https://dtd.nlm.nih.gov/x.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">101</PMID>
<Article PubModel="Print"><Journal><Title>J Test</Title></Journal>
<ArticleTitle>Uptake of CO<sub>2</sub> in <i>Vibrio</i>: a β-test.</ArticleTitle>
<Abstract><AbstractText Label="BACKGROUND" NlmCategory="BACKGROUND">Levels of 10<sup>9</sup>/L &amp; more.</AbstractText>
<AbstractText Label="RESULTS">RESULTS: p &lt; 0.05 and n&#8201;&gt;&#8201;3.</AbstractText>
<AbstractText Label="UNLABELLED">Plain.</AbstractText><AbstractText/>
<CopyrightInformation>© Someone</CopyrightInformation></Abstract></Article>
<CommentsCorrectionsList><CommentsCorrections RefType="Cites"><PMID Version="1">999</PMID></CommentsCorrections></CommentsCorrectionsList>
<OtherAbstract Type="plain-language-summary" Language="eng"><AbstractText>In plain words.</AbstractText></OtherAbstract>
<OtherAbstract Type="Publisher" Language="spa"><AbstractText>En palabras.</AbstractText></OtherAbstract>
</MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="pubmed">101</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>102</PMID><Article><ArticleTitle/><VernacularTitle>Über das Herz</VernacularTitle></Article>
<OtherAbstract Language="ger"><AbstractText>Auf Deutsch.</AbstractText></OtherAbstract></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>103</PMID><Article><ArticleTitle>Broken <b>title</ArticleTitle></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>104</PMID><Article><ArticleTitle></ArticleTitle></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><Article><ArticleTitle>No number</ArticleTitle></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>105</PMID><Article><ArticleTitle>Signs p < 0.01 unescaped</ArticleTitle></Article></MedlineCitation></PubmedArticle>
<PubmedBookArticle><BookDocument><PMID>106</PMID><Book><BookTitle>StatPearls</BookTitle></Book><ArticleTitle>Acne</ArticleTitle>
<Abstract><AbstractText>Skin.</AbstractText></Abstract></BookDocument></PubmedBookArticle>
<DeleteCitation><PMID Version="1">107</PMID></DeleteCitation>
</PubmedArticleSet>
"#;

#[test]
fn pubmed_citations() {
    let (documents, bad) = read("pubmed26n0001.xml", Format::PubMed, PUBMED.as_bytes());
    assert_eq!(
        documents,
        [
            document(
                "101",
                "Uptake of CO2 in Vibrio: a β-test.",
                "BACKGROUND: Levels of 10^9/L & more. RESULTS: p < 0.05 and n > 3. Plain. In plain words."
            ),
            document("102", "Über das Herz", "Auf Deutsch."),
            document("105", "Signs p < 0.01 unescaped", ""),
            document("106", "Acne", "Skin."),
            document("107", "deleted", ""),
        ]
    );
    let said: Vec<&str> = bad.iter().map(|bad| bad.sentence.as_str()).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("broken XML"));
    assert_eq!(said[1], "the citation 104 has neither title nor abstract");
    assert_eq!(said[2], "the citation has no PMID");
    let at = PUBMED
        .find("<PubmedArticle><MedlineCitation><PMID>103")
        .unwrap()
        + 1;
    assert_eq!(bad[0].place, format!("byte {at}"));
}

#[test]
fn statpearls_articles() {
    let long = "Long paragraph of words. ".repeat(60);
    let xml = format!(
        r#"<?xml version="1.0"?><!DOCTYPE book-part PUBLIC "-//NLM//DTD" "x.dtd">
<book-part xmlns:xlink="http://www.w3.org/1999/xlink"><book-part-meta><title-group><title>Acute <italic>Otitis</italic></title></title-group></book-part-meta>
<body><sec id="s1"><title>Etiology</title><p>Caused by <xref ref-type="fig">x</xref> germs.</p>
<list><list-item><p>One germ</p></list-item><list-item><p>Two germs</p></list-item></list>
<sec><title>Risk</title><p>Children.</p></sec><p>After.</p></sec>
<sec><title>Treatment</title><p>{long}</p></sec></body>
<back><ref-list><ref>A reference</ref></ref-list></back></book-part>"#
    );
    let (documents, bad) = read("article-1.nxml", Format::StatPearls, xml.as_bytes());
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(
        documents[..3],
        [
            document(
                "article-1_0",
                "Acute Otitis -- Etiology",
                "Caused by x germs. One germ Two germs"
            ),
            document(
                "article-1_1",
                "Acute Otitis -- Etiology -- Risk",
                "Children."
            ),
            document("article-1_2", "Acute Otitis -- Etiology", "After."),
        ]
    );
    assert!(documents.len() >= 5);
    for passage in &documents[3..] {
        assert_eq!(passage.1, "Acute Otitis -- Treatment");
        assert!(passage.2.chars().count() <= 1000);
    }
    assert!(
        !documents
            .iter()
            .any(|passage| passage.2.contains("reference"))
    );
    let (documents, bad) = read("article-2.nxml", Format::StatPearls, b"<book-part><body>");
    assert!(documents.is_empty());
    assert_eq!((bad.len(), bad[0].place.as_str()), (1, "as a whole"));
}

#[test]
fn plain_text() {
    let text = "Wörter sind kurz. ".repeat(200);
    let (documents, bad) = read("Book.txt", Format::Text, text.as_bytes());
    assert!(bad.is_empty());
    assert!(documents.len() > 4);
    for (number, passage) in documents.iter().enumerate() {
        assert_eq!(
            (&passage.0, passage.1.as_str()),
            (&format!("Book_{number}"), "Book")
        );
        assert!(passage.2.chars().count() <= 1000);
    }
    let (documents, bad) = read("Bad.txt", Format::Text, b"good\xfftext");
    assert_eq!(documents, [document("Bad_0", "Bad", "good")]);
    assert!(bad.len() == 1 && bad[0].place == "byte 5", "{bad:?}");
}

#[test]
fn ncbi_chunks() {
    let text = r#"{"11": {"d": "20200101", "t": "A \"quoted\" {title}.", "a": "An abstract, with [marks].", "m": ""},
 "12": {"t": "Only a title", "a": null}, "13": {"d": "x"}, "14": [1],
 "15":{"t":"","a":"Last"}}"#;
    let (documents, bad) = read("pubmed_chunk_0.json", Format::Ncbi, text.as_bytes());
    assert_eq!(
        documents,
        [
            document("11", "A \"quoted\" {title}.", "An abstract, with [marks]."),
            document("12", "Only a title", ""),
            document("15", "", "Last"),
        ]
    );
    assert_eq!(bad.len(), 2, "{bad:?}");
    assert!(bad[0].sentence.contains("\"13\" has neither"));
    let (_, bad) = read(
        "pubmed_chunk_1.json",
        Format::Ncbi,
        br#"{"1": {"t":"x","a":"#,
    );
    assert!(bad[0].sentence.contains("ends within"), "{bad:?}");
    let (_, bad) = read("pubmed_chunk_2.json", Format::Ncbi, b"[1]");
    assert!(bad[0].sentence.contains("is expected"), "{bad:?}");
}

#[test]
fn a_torn_gzip_file_is_an_error_and_not_a_short_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.jsonl.gz");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for number in 0..2000 {
        writeln!(
            packed,
            "{{\"_id\":\"{number}\",\"text\":\"text {}\"}}",
            number * 7919
        )
        .unwrap();
    }
    let bytes = packed.finish().unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let file = CorpusFile {
        path,
        name: "corpus.jsonl.gz".into(),
        format: Format::Beir,
    };
    let last = open(&file).unwrap().records.last().unwrap();
    assert!(last.unwrap_err().to_string().contains("can't be read"));
}

#[test]
fn a_record_that_is_no_object_is_said_in_words() {
    let text = "[\"1\",\"t\",\"x\"]\n\"a text\"\n3\n{\"_id\":\"1\",\"text\":\"x\"}\n";
    let (documents, bad) = read("x.jsonl", Format::Beir, text.as_bytes());
    assert_eq!(documents.len(), 1);
    let found: Vec<&str> = bad.iter().map(|bad| bad.sentence.as_str()).collect();
    for (sentence, what) in found.iter().zip(["a list", "a text", "a number"]) {
        assert!(
            sentence.contains(&format!("found {what} where")),
            "{sentence}"
        );
    }
    assert_eq!(found.len(), 3);
}

#[test]
fn a_packed_file_that_was_cut_off_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.txt.gz");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let text: String = (0..20_000)
        .map(|i| format!("word{} ", i * 7919 % 10_007))
        .collect();
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let file = CorpusFile {
        path,
        name: "x.txt.gz".into(),
        format: Format::Text,
    };
    let error = open(&file).unwrap().records.find_map(Result::err).unwrap();
    assert!(error.to_string().contains("fetch it again"), "{error}");
}
