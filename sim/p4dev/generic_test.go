package p4dev_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// generic is a reflectionClient within the test process.
type generic struct {
	t       *testing.T
	conn    *grpc.ClientConn
	files   *protoregistry.Files
	service protoreflect.ServiceDescriptor
}

func newGeneric(t *testing.T, address string) reflectionClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "p4.v1.P4Runtime"}}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, b := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(b, f); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, f)
	}
	g := &generic{t: t, conn: conn}
	if g.files, err = protodesc.NewFiles(set); err != nil {
		t.Fatal(err)
	}
	d, err := g.files.FindDescriptorByName("p4.v1.P4Runtime")
	if err != nil {
		t.Fatal(err)
	}
	g.service = d.(protoreflect.ServiceDescriptor)
	return g
}

// messages returns an empty response of a method, and a request decoded from JSON.
func (g *generic) messages(method, request string) (in, out *dynamicpb.Message) {
	g.t.Helper()
	m := g.service.Methods().ByName(protoreflect.Name(method))
	in, out = dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	if err := (protojson.UnmarshalOptions{Resolver: dynamicpb.NewTypes(g.files)}).Unmarshal([]byte(request), in); err != nil {
		g.t.Fatal(err)
	}
	return in, out
}

func (g *generic) call(method, request string) (string, bool) {
	g.t.Helper()
	if g.service.Methods().ByName(protoreflect.Name(method)).IsStreamingServer() {
		answer, leave := g.open(method, request)
		leave()
		return answer, true
	}
	in, out := g.messages(method, request)
	if err := g.conn.Invoke(g.t.Context(), "/p4.v1.P4Runtime/"+method, in, out); err != nil {
		s := status.Convert(err)
		return fmt.Sprintf("Code: %s %s", s.Code(), g.text(s.Proto())), false
	}
	return g.text(out), true
}

func (g *generic) open(method, request string) (string, func()) {
	g.t.Helper()
	in, out := g.messages(method, request)
	desc := &grpc.StreamDesc{ClientStreams: g.service.Methods().ByName(protoreflect.Name(method)).IsStreamingClient(), ServerStreams: true}
	s, err := g.conn.NewStream(g.t.Context(), desc, "/p4.v1.P4Runtime/"+method)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := s.SendMsg(in); err != nil {
		g.t.Fatal(err)
	}
	if err := s.RecvMsg(out); err != nil {
		g.t.Fatal(err)
	}
	return g.text(out), func() {
		if err := s.CloseSend(); err != nil {
			g.t.Error(err)
		}
		for err == nil {
			err = s.RecvMsg(out)
		}
		if !errors.Is(err, io.EOF) {
			g.t.Errorf("the stream ended with %v", err)
		}
	}
}

func (g *generic) text(m proto.Message) string {
	g.t.Helper()
	b, err := protojson.MarshalOptions{Resolver: dynamicpb.NewTypes(g.files)}.Marshal(m)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}
