package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
)

const (
	// heartbeat is the interval at which a stream without events sends a comment: proxies close connections that are
	// silent for half a minute.
	heartbeat = 15 * time.Second
	// streamWrite is how long one write of a stream may take before its client is considered disconnected.
	streamWrite = 30 * time.Second
)

// streams reports whether a route answers with an endless stream.
func streams(route string) bool { return strings.HasSuffix(route, "/stream") }

// stream answers with a stream of events: its only time limit is that of each write, and it ends with the service.
func (s *Server) stream(c *gin.Context, cancel context.CancelFunc) {
	defer context.AfterFunc(s.draining, cancel)()
	c.Header("X-Accel-Buffering", "no") // otherwise nginx would buffer events
	c.Writer = &streamWriter{c.Writer, http.NewResponseController(c.Writer), func() { c.Set(lostKey, true) }}
	c.Next()
}

// streamWriter renews the time limit of the connection with each write.
type streamWriter struct {
	gin.ResponseWriter
	control *http.ResponseController
	lost    func() // called when the client does not receive what is written
}

var _ io.Writer = (*streamWriter)(nil)

func (w *streamWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(streamWrite)) // not all connections have one
	n, err := w.ResponseWriter.Write(b)
	if err != nil {
		w.lost()
	}
	return n, err
}

func (s *Server) StreamEvents(ctx context.Context, r server.StreamEventsRequestObject) (server.StreamEventsResponseObject, error) {
	after := int64(-1)
	switch {
	case r.Params.LastEventID != nil:
		after = *r.Params.LastEventID
	case r.Params.After != nil:
		after = *r.Params.After
	}
	w, err := s.control.WatchEvents(ctx, control.EventFilter{Fabric: r.Fabric, Rollout: deref(r.Params.Rollout), Kind: deref(r.Params.Kind)}, after)
	if err != nil {
		return nil, err
	}
	return server.StreamEvents200TextEventStreamResponse{Body: &eventReader{ctx: ctx, watch: w, buf: *bytes.NewBufferString(": events follow\n\n")}}, nil
}

// eventReader is a stream of events as text. Read waits for the next events and ends with the context.
type eventReader struct {
	ctx   context.Context //nolint:containedctx // of one response; io.Reader has no other way
	watch *control.Watch
	buf   bytes.Buffer
}

var _ io.Reader = (*eventReader)(nil)

func (r *eventReader) Read(p []byte) (int, error) {
	for r.buf.Len() == 0 {
		list, err := r.watch.Next(r.ctx, heartbeat)
		if err != nil {
			return 0, io.EOF // the client or the service ended it, or the store does not answer: the client must reconnect
		}
		if len(list) == 0 {
			r.buf.WriteString(": still here\n\n")
		}
		for _, e := range list {
			if err := writeEvent(&r.buf, eventOut(e)); err != nil {
				return 0, err
			}
		}
	}
	return r.buf.Read(p)
}

// writeEvent writes one server-sent event. JSON has no line breaks, so its data is one line.
func writeEvent(w *bytes.Buffer, e gen.Event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event %d: %w", e.ID, err)
	}
	_, err = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, b)
	return err
}
