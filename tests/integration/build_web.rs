//! Making documents from the web, end to end: a search engine, sites with all that sites do, and a model, all local.

use std::time::Duration;

use serde_json::{Value, json};

use crate::build::{Place, between, prompt, says};
use crate::sse_server::{Request, Script, Server};
use crate::sweep::finish;

/// A page with navigation, and a text about one organ.
fn page(organ: &str) -> String {
    let story = format!(
        "The {organ} stores a vitamin for many months and gives it back when little of it is eaten. Large stores are \
         found in adults, smaller ones in children, and none at all after long fasting. "
    );
    format!(
        "<!doctype html><html><head><title>Stores of the {organ}</title></head><body><nav><a href=\"/\">Home</a> \
         <a href=\"/shop\">Buy pills</a></nav><main><article><h1>Stores</h1><p>{story}</p><p>{story}</p><p>{story}</p>\
         </article></main><footer>Cookies and more</footer></body></html>"
    )
}

fn html(body: &str) -> Script {
    Script::answer("200 OK", &["Content-Type: text/html; charset=utf-8"], body)
}

fn leads_to(location: &str) -> Script {
    Script::answer("302 Found", &[&format!("Location: {location}")], "")
}

/// The path of a request.
fn path(request: &Request) -> String {
    let line = request.head.lines().next().unwrap();
    line.split(' ').nth(1).unwrap().to_owned()
}

/// The site: what stands under each path.
fn site(path: &str) -> Script {
    match path {
        "/robots.txt" => Script::answer(
            "200 OK",
            &["Content-Type: text/plain"],
            "User-agent: *\nDisallow: /private\n\nUser-agent: other\nDisallow: /\n",
        ),
        "/liver" | "/liver?from=a" | "/mirror" => html(&page("liver")),
        "/dressed" => Script::answer(
            "200 OK",
            &["Content-Type: text/html"],
            "%PDF-1.4 stream of words",
        ),
        "/moved" => leads_to("/spleen"),
        "/spleen" => html(&page("spleen")),
        "/loop" => leads_to("/loop"),
        "/away" => leads_to("file:///etc/passwd"),
        "/huge" => Script::stream_of("text/html", &"<p>much</p>".repeat(400_000)),
        "/pdf" => Script::answer("200 OK", &["Content-Type: application/pdf"], "%PDF-1.7"),
        "/latin" => {
            // Declared as UTF-8, written in Latin-1.
            let body = page("rate").replace("rate", "r\u{e2}te");
            let bytes: Vec<u8> = body
                .chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap())
                .collect();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                bytes.len()
            );
            Script::default().send(head).send(bytes)
        }
        "/slow" => Script::default()
            .send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>")
            .drip("x", 100),
        "/private/page" => html(&page("heart")),
        "/useless" => html(&page("shop")),
        "/empty" => html("<html><body><p>Nothing.</p></body></html>"),
        _ => Script::answer("404 Not Found", &["Content-Type: text/html"], "no"),
    }
}

/// SearXNG and the site in one server.
fn web() -> Server {
    let own = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let address = std::sync::Arc::clone(&own);
    let server = Server::start_with(move |_, request| {
        let path = path(request);
        if !path.starts_with("/search?") {
            return site(&path);
        }
        let base = address.get().unwrap();
        let pages = match path.contains("storage") {
            _ if path.contains("copies") => vec![
                "/liver",
                "/liver?from=a",
                "/mirror",
                "/dressed",
                "/spleen",
                "/latin",
            ],
            true => vec![
                "/huge",
                "/pdf",
                "/moved",
                "/loop",
                "/latin",
                "/slow",
                "/liver#part",
            ],
            false => vec![
                "/liver",
                "/away",
                "/private/page",
                "/missing",
                "/empty",
                "/useless",
            ],
        };
        let results: Vec<Value> = pages
            .iter()
            .map(|page| json!({"url": format!("{base}{page}"), "title": page, "content": "About stores"}))
            .collect();
        Script::json("200 OK", &json!({"results": results}))
    });
    own.set(server.base_url().trim_end_matches("/v1").to_owned())
        .unwrap();
    server
}

/// Ranks links as they come, sums pages up, finds nothing in one of them.
fn model() -> Server {
    Server::start_with(|_, request| {
        let prompt = prompt(request);
        if prompt.contains("\"topics\"") {
            return says(&json!({"topics": ["vitamin stores", "vitamin storage organ"]}));
        }
        if prompt.contains("\"links\"") {
            let labels: Vec<String> = prompt
                .match_indices("label=\"")
                .map(|(at, _)| between(&prompt[at..], "label=\"", "\"").to_owned())
                .collect();
            return says(&json!({"links": labels}));
        }
        let organ = between(&prompt, "The text of a web page:", "Does the page hold");
        let organ = between(organ, "Stores of the ", "\n").to_owned();
        if organ == "shop" {
            return says(&json!({"relevant": "no", "summary": ""}));
        }
        let summary = format!(
            "The {organ} is a store of the vitamin that lasts for many months in adults, for a shorter time in children, and \
             is used up in long fasting, which blood tests show late."
        );
        says(&json!({"relevant": "yes", "summary": summary}))
    })
}

fn place() -> Place {
    let place = Place::new();
    place.write(
        "qa.jsonl",
        "{\"question_id\":\"q\",\"question\":\"Which organ stores it?\",\"options\":{\"A\":\"liver\",\"B\":\"heart\"},\"answer\":\"A\"}\n",
    );
    place
}

#[test]
fn pages_become_documents_and_every_other_link_has_its_reason() {
    let (web, model, place) = (web(), model(), place());
    let base = web.base_url().trim_end_matches("/v1").to_owned();
    let topics = [
        "topics",
        "--questions",
        "qa.jsonl",
        "--out",
        "set",
        "--topics",
        "2",
    ];
    let (code, _, err) = finish(place.build(&model, &topics));
    assert_eq!(code, Some(0), "{err}");
    let retrieve = [
        "retrieve",
        "--out",
        "set",
        "--searxng",
        &base,
        "--allow-private",
        "--pages",
        "9",
        "--page-timeout",
        "4",
        "--page-bytes",
        "1000000",
        "--page-pause",
        "0",
        "--json",
    ];
    let (code, out, err) = finish(place.build(&model, &retrieve));
    assert_eq!(code, Some(0), "{err}");
    let stage = &out["stages"][0];
    let reason = |page: &str| -> String {
        let losses = stage["skipped"].as_array().unwrap();
        let loss = losses
            .iter()
            .find(|loss| loss["item"].as_str().unwrap().ends_with(page));
        loss.map_or(String::new(), |loss| {
            loss["reason"].as_str().unwrap().to_owned()
        })
    };
    for (page, part) in [
        ("/huge", "more than 1000000 bytes"),
        ("/pdf", "application/pdf, which is not read"),
        ("/loop", "leads on more than 5 times"),
        ("/slow", "longer than 4 s"),
        ("/away", "\"file:\" are not read"),
        ("/private/page", "robots.txt does not allow it"),
        ("/missing", "answers 404"),
        ("/empty", "main text"),
        ("/useless", "finds nothing in it"),
    ] {
        assert!(reason(page).contains(part), "{page}: {}", reason(page));
    }
    assert_eq!(stage["made"], 3, "{stage}");
    assert_eq!(stage["dropped"], json!([]));
    let documents = place.read("set/signal_docs.json");
    let documents = documents["q"].as_array().unwrap();
    let titles: Vec<&str> = documents
        .iter()
        .map(|d| d["title"].as_str().unwrap())
        .collect();
    assert_eq!(
        titles,
        [
            "Stores of the liver",
            "Stores of the spleen",
            "Stores of the r\u{e2}te"
        ]
    );
    assert!(documents.iter().all(|d| d["source"] == "online"));
    // The page that two topics found, and the address after the redirect.
    assert_eq!(
        documents[0]["found_by"][0]["topics"],
        json!(["vitamin stores", "vitamin storage organ"])
    );
    assert_eq!(documents[1]["url"], format!("{base}/spleen"));
    // The model saw the main text and not the rest of the page.
    let seen: Vec<String> = model
        .requests()
        .iter()
        .map(prompt)
        .filter(|p| p.contains("The text of a web page"))
        .collect();
    assert!(
        seen.iter()
            .all(|prompt| prompt.contains("gives it back") && !prompt.contains("Buy pills"))
    );
    // A second run reads nothing again but what may have passed.
    let (pages, asked) = (web.requests().len(), model.requests().len());
    let (code, again, err) = finish(place.build(&model, &retrieve));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (
            &again["stages"][0]["made"],
            &again["stages"][0]["calls"]["asked"]
        ),
        (&json!(3), &json!(0))
    );
    let fetched: Vec<String> = web.requests()[pages..].iter().map(path).collect();
    assert_eq!(fetched, ["/robots.txt", "/slow"]);
    assert_eq!(model.requests().len(), asked);
}

/// Copies of a page cost no call and take no other page's place.
#[test]
fn only_pages_that_say_something_new_count() {
    let (web, model, place) = (web(), model(), place());
    let base = web.base_url().trim_end_matches("/v1").to_owned();
    place.write("set/topics.json", "{\"q\": [\"copies\"]}");
    let head = "{\"ledger\":\"medrgb build\",\"schema\":1}\n";
    place.write("set/ledger.jsonl", head);
    let retrieve = [
        "retrieve",
        "--questions",
        "qa.jsonl",
        "--out",
        "set",
        "--searxng",
        &base,
        "--allow-private",
        "--pages",
        "3",
        "--page-pause",
        "0",
        "--json",
    ];
    let (code, out, err) = finish(place.build(&model, &retrieve));
    assert_eq!(code, Some(0), "{err}");
    let stage = &out["stages"][0];
    assert_eq!(stage["made"], 3, "{stage}");
    let skipped = stage["skipped"].as_array().unwrap();
    let skipped: Vec<(&str, &str)> = skipped
        .iter()
        .map(|one| {
            (
                one["item"].as_str().unwrap(),
                one["reason"].as_str().unwrap(),
            )
        })
        .collect();
    let copy = format!("it has the text of {base}/liver");
    let pdf = "the content is a PDF, whatever the site calls it, which is not read";
    assert_eq!(
        skipped,
        [
            (format!("{base}/liver?from=a").as_str(), copy.as_str()),
            (format!("{base}/mirror").as_str(), copy.as_str()),
            (format!("{base}/dressed").as_str(), pdf),
        ]
    );
    // The order of the links, and a summary each.
    assert_eq!(stage["calls"]["asked"], 4, "{stage}");
}

#[test]
fn private_addresses_are_refused_unless_they_are_opened() {
    let (web, model, place) = (web(), model(), place());
    let base = web.base_url().trim_end_matches("/v1").to_owned();
    let by_name = base.replace("127.0.0.1", "localhost");
    let topics = [
        "topics",
        "--questions",
        "qa.jsonl",
        "--out",
        "set",
        "--topics",
        "2",
    ];
    assert_eq!(finish(place.build(&model, &topics)).0, Some(0));
    // A search engine that gives the machine's own name.
    let links = [
        format!("{by_name}/liver"),
        format!("{base}/liver"),
        "http://[::1]:9/x".to_owned(),
    ];
    let engine = Server::start_with(move |_, _| {
        let results: Vec<Value> = links
            .iter()
            .map(|url| json!({"url": url, "title": "t", "content": "c"}))
            .collect();
        Script::json("200 OK", &json!({"results": results}))
    });
    let engine_base = engine.base_url().trim_end_matches("/v1").to_owned();
    let retrieve = [
        "retrieve",
        "--out",
        "set",
        "--searxng",
        &engine_base,
        "--json",
    ];
    let (code, out, err) = finish(place.build(&model, &retrieve));
    assert_eq!(code, Some(1), "{err}");
    let skipped = out["stages"][0]["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 3);
    for loss in skipped {
        assert!(
            loss["reason"].as_str().unwrap().contains("public address"),
            "{loss}"
        );
    }
    assert!(web.requests().is_empty(), "nothing was sent");
    let report = place.read("set/report.json");
    assert_eq!(report["retrieve"]["q"]["nothing"], "no document was found");
}

/// One address is opened; what it leads on to is checked like any other.
#[cfg(target_os = "linux")]
#[test]
fn a_redirect_from_an_open_address_to_a_private_one_is_refused_and_nothing_is_sent_there() {
    let (model, place) = (model(), place());
    // Somewhere private that answers to nobody: whoever connects is noticed.
    let secret = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
    secret.set_nonblocking(true).unwrap();
    let port = secret.local_addr().unwrap().port();
    let targets = [
        ("/leads/literal", format!("http://127.0.0.2:{port}/secret")),
        ("/leads/decimal", format!("http://2130706434:{port}/secret")),
        (
            "/leads/mapped",
            format!("http://[::ffff:127.0.0.2]:{port}/secret"),
        ),
        (
            "/leads/meta",
            "http://169.254.169.254/latest/meta-data".to_owned(),
        ),
        ("/leads/six", "http://[::1]:9/secret".to_owned()),
    ];
    let pages = targets.clone();
    let site = Server::start_with(move |_, request| {
        let path = path(request);
        let hop = pages.iter().find(|(page, _)| *page == path);
        match (hop, path.as_str()) {
            (Some((_, target)), _) => leads_to(target),
            // Over a second redirect of its own.
            (None, "/twice") => leads_to("/leads/literal"),
            (None, "/liver") => html(&page("liver")),
            _ => Script::answer("404 Not Found", &["Content-Type: text/plain"], ""),
        }
    });
    let base = site.base_url().trim_end_matches("/v1").to_owned();
    assert!(base.contains("127.0.0.1"), "{base}");
    let mut links: Vec<String> = targets
        .iter()
        .map(|(page, _)| format!("{base}{page}"))
        .collect();
    links.extend([format!("{base}/twice"), format!("{base}/liver")]);
    let engine = Server::start_with(move |_, _| {
        let results: Vec<Value> = links
            .iter()
            .map(|url| json!({"url": url, "title": "t", "content": "c"}))
            .collect();
        Script::json("200 OK", &json!({"results": results}))
    });
    let topics = [
        "topics",
        "--questions",
        "qa.jsonl",
        "--out",
        "set",
        "--topics",
        "1",
    ];
    assert_eq!(finish(place.build(&model, &topics)).0, Some(0));
    let engine = engine.base_url().trim_end_matches("/v1").to_owned();
    let retrieve = [
        "retrieve",
        "--out",
        "set",
        "--searxng",
        &engine,
        "--allow-address",
        "127.0.0.1",
        "--pages",
        "9",
        "--page-pause",
        "0",
        "--json",
    ];
    let (code, out, err) = finish(place.build(&model, &retrieve));
    assert_eq!(code, Some(0), "{err}");
    let stage = &out["stages"][0];
    assert_eq!(stage["made"], 1, "the open address itself is read: {stage}");
    let skipped = stage["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), targets.len() + 1, "{stage}");
    for loss in skipped {
        let reason = loss["reason"].as_str().unwrap();
        assert!(reason.contains("no public address"), "{loss}");
    }
    // Every redirect was followed to its check, and not a step further.
    let asked: Vec<String> = site.requests().iter().map(path).collect();
    for (page, _) in &targets {
        assert!(asked.iter().any(|path| path == page), "{page} in {asked:?}");
    }
    let visitor = secret.accept().map(|(_, from)| from);
    assert!(visitor.is_err(), "somebody came: {visitor:?}");
    let manifest = place.read("set/manifest.json");
    let web = &manifest["build"]["stages"]["retrieve"]["web"];
    assert_eq!(web["allow_private"], json!(["127.0.0.1"]));
}

#[test]
fn google_gets_its_key_in_a_header_and_says_what_is_wrong() {
    let (model, place) = (model(), place());
    let topics = [
        "topics",
        "--questions",
        "qa.jsonl",
        "--out",
        "set",
        "--topics",
        "2",
    ];
    assert_eq!(finish(place.build(&model, &topics)).0, Some(0));
    let site = web();
    let base = site.base_url().trim_end_matches("/v1").to_owned();
    let google = Server::start_with(move |number, _| match number {
        0 => Script::json(
            "503 Service Unavailable",
            &json!({"error": {"message": "try again"}}),
        ),
        _ => Script::json(
            "200 OK",
            &json!({"items": [{"link": format!("{base}/liver"), "title": "Liver", "snippet": "s"}]}),
        ),
    });
    let with_key = |args: &[&str], google: &Server| {
        let mut program = place.build(&model, args);
        program
            .env("GOOGLE_API_KEY", "google-key-0123456789")
            .env("GOOGLE_CSE_ID", "engine-1")
            .env("GOOGLE_SEARCH_URL", google.base_url());
        finish(program)
    };
    let retrieve = [
        "retrieve",
        "--out",
        "set",
        "--google",
        "--allow-private",
        "--json",
    ];
    let (code, out, err) = with_key(&retrieve, &google);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["stages"][0]["made"], 1);
    let requests = google.requests();
    assert_eq!(requests.len(), 3, "one was tried again");
    for request in &requests {
        let head = request.head.to_lowercase();
        assert!(head.contains("x-goog-api-key: google-key-0123456789"));
        assert!(head.contains("cx=engine-1") && !head.contains("key=google"));
    }
    for file in ["ledger.jsonl", "manifest.json", "report.json"] {
        let text = std::fs::read_to_string(place.path("set").join(file)).unwrap();
        assert!(!text.contains("google-key"), "{file}");
    }
    let refusing = Server::start_with(|_, _| {
        Script::json(
            "403 Forbidden",
            &json!({"error": {"message": "key google-key-0123456789 is not valid"}}),
        )
    });
    let again = [
        "retrieve", "--out", "set", "--google", "--only", "q", "--again",
    ];
    let (code, _, err) = with_key(&again, &refusing);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("answers 403") && err.contains("GOOGLE_CSE_ID") && !err.contains("google-key"),
        "{err}"
    );
}

#[test]
fn a_search_that_gives_no_json_says_what_to_do() {
    let (model, place) = (model(), place());
    let topics = [
        "topics",
        "--questions",
        "qa.jsonl",
        "--out",
        "set",
        "--topics",
        "2",
    ];
    assert_eq!(finish(place.build(&model, &topics)).0, Some(0));
    let started = std::time::Instant::now();
    let engine = Server::start(vec![Script::answer(
        "200 OK",
        &["Content-Type: text/html"],
        "<html>",
    )]);
    let base = engine.base_url().trim_end_matches("/v1").to_owned();
    let (code, _, err) =
        finish(place.build(&model, &["retrieve", "--out", "set", "--searxng", &base]));
    assert_eq!(code, Some(1));
    assert!(err.contains("format json must be allowed"), "{err}");
    assert!(started.elapsed() < Duration::from_secs(60));
}
