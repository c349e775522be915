//! A service on the network, and curl: requests are counted by key, and answered once.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use jukebox::effects::{Call, EffectError};
use jukebox::model::{EffectRequest, Outcome};

use super::world::{TXN, WHOLE, World, call};

/// What the service was asked: method, path, key and body of each request.
type Asked = Arc<Mutex<Vec<[String; 4]>>>;

/// A service that makes a charge once for each key, and takes it back by its id. Under a path
/// that begins with `/broken` it fails; under `/cut` it does what it is asked, and hangs up.
fn service() -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Asked::default();
    let told = Arc::clone(&asked);
    thread::spawn(move || {
        let mut charges = BTreeMap::new();
        for stream in listener.incoming() {
            answer(stream.unwrap(), &told, &mut charges);
        }
    });
    (port, asked)
}

fn answer(mut stream: TcpStream, asked: &Asked, charges: &mut BTreeMap<String, usize>) {
    let mut lines = BufReader::new(&stream);
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let path = words.next().unwrap_or_default().to_owned();
    let (mut key, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        lines.read_line(&mut header).unwrap();
        match header.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("idempotency-key") => {
                value.clone_into(&mut key);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let request = [method.clone(), path.clone(), key.clone(), body];
    asked.lock().unwrap().push(request);
    let next = charges.len() + 100;
    let id = *charges.entry(key).or_insert(next);
    if path.starts_with("/cut") {
        return;
    }
    let (status, body) = match method.as_str() {
        _ if path.starts_with("/broken") => ("503 Out", "try later".to_owned()),
        "DELETE" => ("200 OK", String::new()),
        _ => ("200 OK", format!("{id}\n")),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).unwrap();
}

/// A world whose effects are requests to the service.
fn world(port: u16) -> World {
    let world = World::new();
    let curl = |rest: &str| {
        format!(
            r#"["curl", "-sS", "--noproxy", "*", "--fail-with-body", "-H", "Idempotency-Key: {{key}}", {rest}]"#
        )
    };
    let post = curl(&format!(
        r#""--data-binary", "@-", "http://127.0.0.1:{port}/{{1}}""#
    ));
    let delete = curl(&format!(
        r#""-X", "DELETE", "http://127.0.0.1:{port}/charges/{{output}}""#
    ));
    let config = format!(
        "[effects.charge]\nclass = 'compensable'\ncommand = {post}\ncompensate = {delete}\nin_doubt = [52]\n\
         [effects.put]\nclass = 'idempotent'\ncommand = {post}\nin_doubt = [52]\n\
         [effects.mail]\ncommand = {post}\n"
    );
    fs::write(world.path("jukebox.toml"), config).unwrap();
    world
}

fn request<'a>(name: &'a str, key: &'a str, path: &str, body: &str) -> Call<'a> {
    Call {
        request: EffectRequest {
            arguments: vec![path.to_owned()],
            body: body.as_bytes().into(),
        },
        ..call(name, key, "")
    }
}

fn has_curl() -> bool {
    let found = std::process::Command::new("curl").arg("--version").output();
    if found.is_err() {
        super::skipped("there is no `curl` on this machine");
    }
    found.is_ok()
}

#[test]
fn a_service_is_asked_once_for_each_key_and_takes_back_what_it_did() {
    if !has_curl() {
        return;
    }
    let (port, asked) = service();
    let world = world(port);
    let mut run = world.begin();
    let charge = request("charge", "c1", "charges", r#"{"amount": 5}"#);
    for _ in 0..3 {
        let answer = run.call(&charge).unwrap();
        assert_eq!(
            (answer.outcome, &*answer.output),
            (Outcome::Ok, &b"100\n"[..])
        );
    }
    run.call(&request("mail", "m1", "mails", "hello")).unwrap();
    let failed = run.call(&request("charge", "c2", "broken", "x")).unwrap();
    assert_eq!(
        (failed.outcome, &*failed.output),
        (Outcome::Failed, &b"try later"[..])
    );
    let done = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    assert_eq!(done.to_string(), "rolled back");
    assert_eq!((done.compensated, done.not_sent), (vec![1], vec![2]));
    let expected = [
        ["POST", "/charges", "c1", r#"{"amount": 5}"#],
        ["POST", "/broken", "c2", "x"],
        ["DELETE", "/charges/100", "c1-undo", ""],
    ];
    let expected = expected.map(|request| request.map(str::to_owned));
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[test]
fn what_waited_is_sent_in_order_after_the_commit() {
    if !has_curl() {
        return;
    }
    let (port, asked) = service();
    let world = world(port);
    let mut run = world.begin();
    for (key, path) in [("m1", "a"), ("m2", "b"), ("m3", "c")] {
        run.call(&request("mail", key, path, "hello")).unwrap();
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
    run.effects.send_waiting(&mut run.tape, TXN).unwrap();
    let paths: Vec<String> = asked
        .lock()
        .unwrap()
        .iter()
        .map(|it| it[1].clone())
        .collect();
    assert_eq!(paths, ["/a", "/b", "/c"]);
}

#[test]
fn a_service_that_hangs_up_leaves_a_doubt_and_is_asked_again_with_the_same_key() {
    if !has_curl() {
        return;
    }
    let (port, asked) = service();
    let world = world(port);
    let mut run = world.begin();
    let put = request("put", "p1", "cut", "x");
    assert_eq!(run.call(&put).unwrap().outcome, Outcome::Interrupted);
    let charge = request("charge", "c1", "cut", "x");
    assert_eq!(run.call(&charge).unwrap().exit, Some(52));
    assert_eq!(run.states(), ["in-doubt", "in-doubt"]);
    // It is repeated only where that was declared to be harmless.
    assert_eq!(run.effects.retry_doubts(&mut run.tape).unwrap(), [1, 2]);
    let keys: Vec<String> = asked
        .lock()
        .unwrap()
        .iter()
        .map(|it| it[2].clone())
        .collect();
    assert_eq!(keys, ["p1", "c1", "p1"]);
    let refused = run.call(&charge);
    assert!(matches!(
        refused,
        Err(EffectError::InDoubt { number: 2, .. })
    ));
}
