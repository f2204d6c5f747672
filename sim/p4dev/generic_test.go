package p4dev_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"fairlane/sim/p4dev"
)

// generic is a client that knows of P4Runtime what server reflection tells, as grpcurl does, but without a process.
type generic struct {
	t       *testing.T
	conn    *grpc.ClientConn
	files   *protoregistry.Files
	service protoreflect.ServiceDescriptor
}

func newGeneric(t *testing.T, conn *grpc.ClientConn) *generic {
	t.Helper()
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

// messages returns an empty answer of a method, and a request read from JSON.
func (g *generic) messages(method protoreflect.Name, request string) (in, out *dynamicpb.Message) {
	g.t.Helper()
	m := g.service.Methods().ByName(method)
	in, out = dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	if err := (protojson.UnmarshalOptions{Resolver: dynamicpb.NewTypes(g.files)}).Unmarshal([]byte(request), in); err != nil {
		g.t.Fatal(err)
	}
	return in, out
}

func (g *generic) call(method protoreflect.Name, request string) (string, error) {
	g.t.Helper()
	in, out := g.messages(method, request)
	err := g.conn.Invoke(g.t.Context(), "/p4.v1.P4Runtime/"+string(method), in, out)
	return g.text(out), err
}

// open sends the first message of a stream, and returns the stream and the first answer.
func (g *generic) open(method protoreflect.Name, request string) (grpc.ClientStream, string) {
	g.t.Helper()
	in, out := g.messages(method, request)
	desc := &grpc.StreamDesc{ClientStreams: g.service.Methods().ByName(method).IsStreamingClient(), ServerStreams: true}
	s, err := g.conn.NewStream(g.t.Context(), desc, "/p4.v1.P4Runtime/"+string(method))
	if err != nil {
		g.t.Fatal(err)
	}
	if err := s.SendMsg(in); err != nil {
		g.t.Fatal(err)
	}
	if err := s.RecvMsg(out); err != nil {
		g.t.Fatal(err)
	}
	return s, g.text(out)
}

func (g *generic) text(m proto.Message) string {
	g.t.Helper()
	b, err := protojson.MarshalOptions{Resolver: dynamicpb.NewTypes(g.files)}.Marshal(m)
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), " ", "")
}

// TestAGenericClient speaks to a switch in numbers and bytes alone, as the P4Info gives them.
func TestAGenericClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{})
	g := newGeneric(t, r.conn)
	// port_cfg, port 7: 100, 100000 and 90000 Mbit/s, 24 us, 110 %, 50 %.
	const write = `{"deviceId": "5", "electionId": {"low": "1"}, "updates": [{"type": "INSERT", "entity": {"tableEntry": {
		"tableId": 33554433, "match": [{"fieldId": 1, "exact": {"value": "Bw=="}}],
		"action": {"action": {"actionId": 16777217, "params": [
			{"paramId": 1, "value": "ZA=="}, {"paramId": 2, "value": "AYag"}, {"paramId": 3, "value": "AV+Q"},
			{"paramId": 4, "value": "GA=="}, {"paramId": 5, "value": "bg=="}, {"paramId": 6, "value": "Mg=="}]}}}}}]}`
	_, err := g.call("Write", write)
	wantCode(t, "before arbitration", err, codes.PermissionDenied, "arbitrate first")
	stream, heard := g.open("StreamChannel", `{"arbitration": {"deviceId": "5", "electionId": {"low": "1"}}}`)
	if heard != `{"arbitration":{"deviceId":"5","electionId":{"low":"1"},"status":{}}}` {
		t.Errorf("arbitration is answered by %s", heard)
	}
	_, err = g.call("Write", write)
	wantCode(t, "as the primary", err, codes.OK, "")
	if got := r.dev.Config(); len(got.Ports) != 1 || got.Ports[0] != port(7) {
		t.Errorf("the switch holds %+v, want %+v", got.Ports, port(7))
	}
	_, err = g.call("Write", strings.Replace(write, "Bw==", "AAc=", 1))
	wantCode(t, "a leading zero", err, codes.Unknown, "some updates failed")
	_, rate := g.open("Read", `{"deviceId": "5", "entities": [{"registerEntry": {"registerId": 369098753, "index": {"index": "7"}}}]}`)
	if rate != `{"entities":[{"registerEntry":{"registerId":369098753,"index":{"index":"7"},"data":{"bitstring":"AYag"}}}]}` {
		t.Errorf("the fair rate reads %s", rate)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}
