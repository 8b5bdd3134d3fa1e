package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

const (
	typeSignature   = 0x01
	typeCosignature = 0x04
)

// newVerifier reads a key in the vkey format. The note package has no cosignatures, so these are implemented here.
func newVerifier(vkey string) (note.Verifier, error) {
	fields := strings.SplitN(vkey, "+", 3)
	if len(fields) != 3 {
		return nil, errors.New("malformed verifier key")
	}
	material, err := base64.StdEncoding.DecodeString(fields[2])
	if err != nil || len(material) != 1+ed25519.PublicKeySize {
		return nil, errors.New("malformed verifier key")
	}
	if material[0] != typeCosignature {
		return note.NewVerifier(vkey)
	}
	if fmt.Sprintf("%08x", keyID(fields[0], material)) != fields[1] {
		return nil, errors.New("wrong key ID")
	}
	return &witness{name: fields[0], public: material[1:]}, nil
}

func keyID(name string, material []byte) uint32 {
	sum := sha256.Sum256(append([]byte(name+"\n"), material...))
	return binary.BigEndian.Uint32(sum[:])
}

// witness verifies cosignatures, and makes them if it has a private key.
type witness struct {
	name    string
	public  ed25519.PublicKey
	private ed25519.PrivateKey
	time    uint64
}

func (w *witness) Name() string { return w.name }

func (w *witness) KeyHash() uint32 {
	return keyID(w.name, append([]byte{typeCosignature}, w.public...))
}

func (w *witness) Verify(text, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	time := binary.BigEndian.Uint64(signature)
	return ed25519.Verify(w.public, cosigned(text, time), signature[8:])
}

func (w *witness) Sign(text []byte) ([]byte, error) {
	signature := binary.BigEndian.AppendUint64(nil, w.time)
	return append(signature, ed25519.Sign(w.private, cosigned(text, w.time))...), nil
}

func (w *witness) vkey() string {
	return formatKey(w.name, append([]byte{typeCosignature}, w.public...))
}

func cosigned(text []byte, time uint64) []byte {
	return append(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", time), text...)
}

func formatKey(name string, material []byte) string {
	return fmt.Sprintf("%s+%08x+%s", name, keyID(name, material), base64.StdEncoding.EncodeToString(material))
}
