//! The way to a real endpoint: one connection for each request, to the address that the user
//! named and to no other. What the system trusts is trusted; no redirect is followed, no proxy
//! is used.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::rt::{Read, Write};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::api::Api;

/// So long the other side has to take a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// An address that is none of an endpoint.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no address of an endpoint: it begins with https:// or http://, and has a host")]
pub struct AddressError(String);

/// Where an endpoint is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    api: Api,
    is_secure: bool,
    host: String,
    port: u16,
    /// As a request names it.
    authority: String,
    path: String,
}

impl Upstream {
    /// An endpoint at this address, such as `https://api.example.com/v1`.
    pub fn new(api: Api, address: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(address.to_owned());
        let uri: Uri = address.parse().ok().ok_or_else(wrong)?;
        let is_secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        let has_more = authority.as_str().contains('@') || uri.query().is_some();
        if has_more || authority.host().is_empty() {
            return Err(wrong());
        }
        let host = authority.host();
        let host = host.strip_prefix('[').unwrap_or(host);
        Ok(Self {
            api,
            is_secure,
            host: host.strip_suffix(']').unwrap_or(host).to_owned(),
            port: authority
                .port_u16()
                .unwrap_or(if is_secure { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Which endpoint it is.
    pub fn api(&self) -> Api {
        self.api
    }

    /// Its address.
    pub fn address(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }

    /// Sends a request, and waits for the beginning of the answer.
    pub(super) async fn send(
        &self,
        trust: &Trust,
        (method, path): (Method, &str),
        headers: HeaderMap,
        body: Bytes,
    ) -> io::Result<Response<Incoming>> {
        let below = format!("{}{path}", self.path);
        let mut request = Request::builder()
            .method(method)
            .uri(if below.is_empty() { "/" } else { &below })
            .body(Full::new(body))
            .map_err(io::Error::other)?;
        *request.headers_mut() = headers;
        let host = HeaderValue::from_str(&self.authority).map_err(io::Error::other)?;
        request.headers_mut().insert(HOST, host);
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let stream = in_time(connecting).await?;
        stream.set_nodelay(true)?;
        if !self.is_secure {
            return exchange(TokioIo::new(stream), request).await;
        }
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let connector = TlsConnector::from(trust.config()?);
        let stream = in_time(connector.connect(name, stream)).await?;
        exchange(TokioIo::new(stream), request).await
    }
}

async fn in_time<T>(done: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let done = tokio::time::timeout(PATIENCE, done).await;
    done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn exchange<C>(connection: C, request: Request<Full<Bytes>>) -> io::Result<Response<Incoming>>
where
    C: Read + Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(connection)
        .await
        .map_err(io::Error::other)?;
    // It ends with the body of the answer, or with whoever reads that.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(io::Error::other)
}

/// Whom to trust, read when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Trust(OnceLock<Arc<ClientConfig>>);

impl Trust {
    fn config(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(config) = self.0.get() {
            return Ok(Arc::clone(config));
        }
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let why = found.errors.first().map(ToString::to_string);
            let why = why.unwrap_or_else(|| "there are none".to_owned());
            let said = format!("no certificates of the system can be read: {why}");
            return Err(io::Error::other(said));
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::clone(self.0.get_or_init(|| Arc::new(config))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_told_as_they_are() {
        let check = |address: &str, expected: Option<(&str, u16, &str)>| {
            let upstream = Upstream::new(Api::OpenAi, address).ok();
            let parts = upstream.as_ref().map(|it| (&*it.host, it.port, &*it.path));
            assert_eq!(parts, expected, "{address}");
        };
        check(
            "https://api.openai.com/v1",
            Some(("api.openai.com", 443, "/v1")),
        );
        check("http://127.0.0.1:8080", Some(("127.0.0.1", 8080, "")));
        check("http://[::1]:1/a/", Some(("::1", 1, "/a")));
        check("api.openai.com", None);
        check("ftp://api.openai.com", None);
        check("https://me:secret@api.openai.com", None);
        check("https://api.openai.com/?key=x", None);
        let address = "http://[::1]:1/a";
        let upstream = Upstream::new(Api::OpenAi, address).unwrap();
        assert_eq!(upstream.address(), address);
    }
}
