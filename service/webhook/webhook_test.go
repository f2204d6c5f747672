package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlane/internal/testkit/zhtest"
)

const secret = "0123456789abcdef0123456789abcdef"

func key(t testing.TB, text string) *Key {
	t.Helper()
	k, err := ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return &k
}

// TestTheSignatureIsThatOfTheSpecification uses the example of the specification's reference libraries.
func TestTheSignatureIsThatOfTheSpecification(t *testing.T) {
	t.Parallel()
	k := key(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	got := k.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKeysAreLongEnoughAndNeverShown(t *testing.T) {
	t.Parallel()
	a, b := key(t, secret), key(t, secretPrefix+base64.StdEncoding.EncodeToString([]byte(secret)))
	if a.sign("x", "1", nil) != b.sign("x", "1", nil) {
		t.Error("the two forms of one key differ")
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", a, *a, *a, a); strings.Contains(shown, "0123") || strings.Contains(shown, "48, 49") {
		t.Errorf("the key is shown: %s", shown)
	}
	for _, bad := range []string{"", "geheim", "whsec_", "whsec_geheim!", "whsec_" + base64.StdEncoding.EncodeToString([]byte("geheim"))} {
		_, err := ParseKey(bad)
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", bad, err)
			continue
		}
		zhtest.Error(t, bad, err, "whsec", "base64")
	}
}

func TestReceiversVerifyWhatIsSent(t *testing.T) {
	t.Parallel()
	k := key(t, secret)
	var header http.Header
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
	}))
	defer srv.Close()
	s := New(srv.URL, k, nil)
	defer s.Close()
	id := NewID()
	if err := s.Post(t.Context(), id, []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64)
	if err != nil || header.Get(HeaderID) != id || header.Get("Content-Type") != "application/json" {
		t.Errorf("headers are %v", header)
	}
	at := time.Unix(seconds, 0)
	check := func(name string, want error, edit func(h http.Header, body *[]byte, now *time.Time)) {
		t.Helper()
		h, b, now := header.Clone(), append([]byte{}, body...), at
		edit(h, &b, &now)
		if err := k.Verify(h, b, now); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	check("as sent", nil, func(http.Header, *[]byte, *time.Time) {})
	check("with a second signature", nil, func(h http.Header, _ *[]byte, _ *time.Time) {
		h.Set(HeaderSignature, "v1,old "+h.Get(HeaderSignature))
	})
	check("at the end of the window", nil, func(_ http.Header, _ *[]byte, now *time.Time) { *now = at.Add(Window) })
	check("replayed", ErrWindow, func(_ http.Header, _ *[]byte, now *time.Time) { *now = at.Add(Window + time.Second) })
	check("from the future", ErrWindow, func(_ http.Header, _ *[]byte, now *time.Time) { *now = at.Add(-Window - time.Second) })
	check("with a later timestamp", ErrSignature, func(h http.Header, _ *[]byte, _ *time.Time) {
		h.Set(HeaderTimestamp, strconv.FormatInt(seconds+1, 10))
	})
	check("with another id", ErrSignature, func(h http.Header, _ *[]byte, _ *time.Time) { h.Set(HeaderID, "msg_2") })
	check("with another body", ErrSignature, func(_ http.Header, b *[]byte, _ *time.Time) { (*b)[0] = '[' })
	check("unsigned", ErrSignature, func(h http.Header, _ *[]byte, _ *time.Time) { h.Del(HeaderSignature) })
	if err := key(t, strings.ToUpper(secret)).Verify(header, body, at); !errors.Is(err, ErrSignature) {
		t.Errorf("another key: %v", err)
	}
}

func TestReceiversThatMisbehaveAreBounded(t *testing.T) {
	t.Parallel()
	followed := false
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/endless-error":
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte("\x1b[2J" + strings.Repeat("x", 64<<10))); err != nil {
					return
				}
			}
		case "/redirect":
			http.Redirect(w, r, srv.URL+"/target", http.StatusTemporaryRedirect)
		case "/target":
			followed = true
		case "/closes":
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = c.Close()
			}
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		case "/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case "/wrong":
			http.Error(w, "no\nsuch thing", http.StatusNotFound)
		case "/echo/geheim":
			http.Error(w, "Cannot POST "+r.RequestURI, http.StatusNotFound)
		case "/late/geheim": // the limit of what is repeated is within the path
			http.Error(w, strings.Repeat(".", maxDetail-len(r.URL.Path)+3)+r.URL.Path, http.StatusNotFound)
		case "/json/geheim":
			http.Error(w, `{"token":"`+r.URL.Query().Get("token")+`","path":"\/json\/"}`, http.StatusNotFound)
		}
	}))
	defer srv.Close()
	begun := time.Now()
	for path, want := range map[string]struct {
		status  int // 0: no status
		lasting bool
		ok      bool
	}{
		"/endless": {ok: true}, "/endless-error": {status: 500}, "/redirect": {status: 307, lasting: true}, "/closes": {}, "/headers": {},
		"/busy": {status: 429}, "/wrong": {status: 404, lasting: true}, "/echo/geheim": {status: 404, lasting: true},
		"/late/geheim": {status: 404, lasting: true}, "/json/geheim": {status: 404, lasting: true},
	} {
		s := New(srv.URL+path+"?token=geheim-0123456789", nil, nil)
		err := s.Post(t.Context(), "", []byte("{}"))
		s.Close()
		var status *StatusError
		switch {
		case want.ok != (err == nil):
			t.Errorf("%s: %v", path, err)
			continue
		case err == nil:
			continue
		case errors.As(err, &status) != (want.status != 0), status != nil && (status.Status != want.status || status.Lasting() != want.lasting):
			t.Errorf("%s: %v", path, err)
		case strings.Contains(err.Error(), "geh") || strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 400:
			t.Errorf("%s: the message is %q", path, err)
		}
		if status != nil {
			zhtest.Error(t, path, err, "no", "such", "thing", "2J"+strings.Repeat("x", maxDetail-3), "Cannot", "POST", "xxxxx", "token", "path", "json")
		}
	}
	if followed {
		t.Error("a redirect was followed")
	}
	if took := time.Since(begun); took > Timeout {
		t.Errorf("it took %v", took)
	}
}
