package api

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

// compressFrom is the minimum size, in bytes, of a compressed answer: a smaller one fits into one packet anyway.
const compressFrom = 1400

// gzipWriters is a pool of compressors: each needs several hundred kilobytes.
type gzipWriters struct{ pool sync.Pool }

func (p *gzipWriters) get(w io.Writer) *gzip.Writer {
	if z, ok := p.pool.Get().(*gzip.Writer); ok {
		z.Reset(w)
		return z
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil { // cannot happen: the level is one of the package's own
		return gzip.NewWriter(w)
	}
	return z
}

// compress compresses answers with gzip when the client accepts it and the answer is large enough. Streams are never
// compressed: each event must be sent at once.
func (s *Server) compress(c *gin.Context) {
	if !takes(c.GetHeader("Accept-Encoding"), "gzip") || c.Request.Method == http.MethodHead {
		return
	}
	w := &gzipWriter{ResponseWriter: c.Writer, pool: &s.gzip}
	c.Writer = w
	defer w.finish()
	c.Next()
}

// takes reports whether Accept-Encoding accepts a content coding (RFC 9110, 12.5.3).
func takes(accept, coding string) bool {
	others := false
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if v, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			q, _ = strconv.ParseFloat(v, 64) // an invalid number counts as 0: not acceptable
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case coding:
			return q > 0
		case "*":
			others = q > 0
		}
	}
	return others
}

// gzipWriter holds an answer back until its size decides about compression.
type gzipWriter struct {
	gin.ResponseWriter
	pool  *gzipWriters
	held  []byte
	z     *gzip.Writer
	plain bool // decided: sent uncompressed
}

var _ io.Writer = (*gzipWriter)(nil)

func (w *gzipWriter) Write(b []byte) (int, error) {
	switch {
	case w.z != nil:
		return w.z.Write(b)
	case w.plain:
		return w.ResponseWriter.Write(b)
	case w.Header().Get("Content-Encoding") != "" || strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream"):
		w.plain = true
		return w.ResponseWriter.Write(b)
	}
	w.held = append(w.held, b...)
	if len(w.held) < compressFrom {
		return len(b), nil
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Del("Content-Length")
	w.z = w.pool.get(w.ResponseWriter)
	held := w.held
	w.held = nil
	if _, err := w.z.Write(held); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var _ io.StringWriter = (*gzipWriter)(nil)

func (w *gzipWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Written reports whether any part of the answer was written, held back or not.
func (w *gzipWriter) Written() bool { return len(w.held) > 0 || w.ResponseWriter.Written() }

// Flush sends what is held back.
func (w *gzipWriter) Flush() {
	if w.z != nil {
		_ = w.z.Flush() // the next write fails as well, and says so
	} else {
		w.release()
	}
	w.ResponseWriter.Flush()
}

func (w *gzipWriter) release() {
	if held := w.held; len(held) > 0 {
		w.held = nil
		_, _ = w.ResponseWriter.Write(held) // the client went away: the error has no receiver
	}
	w.plain = true
}

func (w *gzipWriter) finish() {
	if w.z == nil {
		w.release()
		return
	}
	_ = w.z.Close() // as above
	w.pool.pool.Put(w.z)
	w.z = nil
}
