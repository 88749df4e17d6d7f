"""Native code for a kernel: LLVM IR -> object -> a function that XLA calls by name.

    compile(ir)              -> object file, for this CPU
    register(key, make_ir)   -> name of an FFI target, for `jax.ffi.ffi_call`

`make_ir` gives the text of a module that defines `@block` (see `launcher`). It is called only if neither this process
nor the disk cache has the object, so `key` must be a hash of all that determines the text.

llvmlite, and the LLVM inside it, is imported when the first kernel is asked for.
"""

import ctypes
import functools
import hashlib
import platform
import sys
import threading
from collections.abc import Callable
from typing import Any

import jax

from . import abi, cache, launcher

VERSION = 1  # to be raised when the same key shall give other code

# What a kernel's functions need where the host has AVX-512; without it LLVM splits 512-bit vectors in two.
WIDE = '"prefer-vector-width"="512" "min-legal-vector-width"="512" "stackrealign" alignstack(64)'

_lock = threading.RLock()
_loaded: dict[str, tuple[Any, Any]] = {}  # name -> what must live as long as the process: code and capsule


@functools.cache
def vector_bytes() -> int:
    """The width of the host's widest vectors: 64 with AVX-512, 32 with AVX2, otherwise 16 (SSE, NEON, and also SVE)."""
    features = _llvm().get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512vl") and features.get("avx512dq"):
        return 64
    return 32 if features.get("avx2") else 16


def attributes() -> str:
    """What the functions of a kernel need to use this host's widest vectors, also for what spills to the stack."""
    return WIDE if vector_bytes() == 64 else '"stackrealign"'


def register(key: str, make_ir: Callable[[], str], *, opt: int = 2) -> str:
    """The name under which XLA's `ffi_call` finds the kernel; the same name in every process with the same machine."""
    with _lock:
        name = f"plausim_{_digest(key, str(opt), _host())}"
        if name not in _loaded:
            code = cache.load(name)
            if code is None:
                code = compile(make_ir(), opt=opt)
                cache.store(name, code)
            loaded, address = _load(name, code)
            capsule = jax.ffi.pycapsule(ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address))
            jax.ffi.register_ffi_target(name, capsule, platform="cpu")
            _loaded[name] = loaded, capsule
        return name


def compile(ir: str, *, opt: int = 2, passes: int = 0) -> bytes:
    """The object file for this CPU, with the handler of `launcher` in it.

    `opt` (0 to 3) is the effort of the code generator, `passes` (0 to 3) that of LLVM's passes over the IR. Our
    generators fold and share by themselves, and on straight lines of vector code the passes cost time and gain nothing.
    """
    llvm = _llvm()
    module = llvm.parse_assembly(ir)
    module.link_in(llvm.parse_assembly(launcher.ir(abi.installed())))
    machine = _machine(opt)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    _check_symbols(module)
    if passes:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=passes))
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _check_symbols(module: Any) -> None:
    """Say what the loader will not find, before the time to compile is spent."""
    functions = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    missing = [name for name in functions if not _llvm().address_of_symbol(name)]
    if missing:
        raise ValueError(
            f"The kernel calls {', '.join(missing)}, which neither its module nor the C library nor libm defines"
            f"{'; a kernel must define @block' if 'block' in missing else ''}."
        )


def _load(name: str, code: bytes) -> tuple[Any, int]:
    """Make an object file callable: what keeps it in memory, and the address of `@handler`."""
    library = _llvm().JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol("handler")
    loaded = library.link(_linker(), name)
    return loaded, loaded["handler"]


@functools.cache
def _linker() -> Any:
    """LLVM's JITLink: keeps the sections of an object together, as the small code model needs, and checks distances."""
    return _llvm().create_lljit_compiler(_machine(0), use_jit_link=True, suppress_errors=True)


def _machine(opt: int) -> Any:
    llvm = _llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=opt,
        jit=True,
        # Constants beside the code are read in place; the large model of a JIT loads the address of each one first.
        **({} if sys.platform == "win32" else {"codemodel": "small", "reloc": "pic"}),
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


@functools.cache
def _host() -> str:
    """All that decides, besides the kernel's own IR, what its object file is."""
    import llvmlite

    llvm = _llvm()
    return _digest(
        str(VERSION),
        llvmlite.__version__,
        str(llvm.llvm_version_info),
        llvm.get_default_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        launcher.ir(abi.installed()),
    )


@functools.cache
def _llvm() -> Any:
    """`llvmlite.binding`, ready to compile for this machine, with libm in sight of the loader."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":  # elsewhere libm is part of the C library
        llvm.load_library_permanently("libm.so.6")
    elif sys.platform == "win32":
        llvm.load_library_permanently("ucrtbase.dll")
    return llvm
