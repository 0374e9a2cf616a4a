//! Requests and their answers: each request of [`protocol`](crate::protocol) is carried out by a method of [`Keep`], and what that gives is
//! written for the outside.

mod agent;
mod compact;
mod journal;
mod mail;
mod memory;
mod search;
mod settings;
mod what_if;

use threadkeep_store::Store;

use crate::protocol::{PromptRequest, Request, Response, Start};
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// Answers one request. Every [`Response`] that follows a change means that the change is durable.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was stored then.
    pub async fn handle(&self, request: Request) -> Result<Response, KeepError> {
        match self.talk(request).await {
            Ok(answer) => answer,
            Err(request) => self.manage(request).await,
        }
    }

    /// Answers a request that adds to conversations, reads, checks or lists them, as [`Keep::handle`] does. Any other request comes back, for
    /// [`Keep::manage`]. The two are apart so that a browser can load the code of the second later.
    ///
    /// # Errors
    /// The request, if it is another.
    pub async fn talk(&self, request: Request) -> Result<Result<Response, KeepError>, Request> {
        Ok(match request {
            Request::Receive(inbound) => self.receive(inbound).await.map(Response::node),
            Request::Extend { node, messages } => self.extend(&node, messages).await.map(Response::node),
            Request::Seal { node } => self.seal(&node).await.map(Response::node),
            Request::Alias { id, node } => self.alias(&id, &node).await.map(Response::node),
            Request::Node { id } => self.node(&id).await.map(|node| Response::MaybeNode(node.map(Box::new))),
            Request::Children { id } => self.children(&id).await.map(Response::Nodes),
            Request::Roots => self.roots().await.map(Response::Nodes),
            Request::Chain { leaf } => self.chain(&leaf).await.map(Response::Nodes),
            Request::Depth { id } => self.depth(&id).await.map(|depth| Response::Number(depth.into())),
            Request::Head { head } => self.head(&head).await.map(|node| Response::MaybeNode(node.map(Box::new))),
            Request::SetHead { head, node } => self.set_head(&head, &node).await.map(Response::node),
            Request::Heads => self.heads().await.map(Response::Heads),
            Request::Fork { head, new_head, at_index } => {
                self.fork(&head, &new_head, at_index).await.map(Response::node)
            }
            Request::Append { head, messages, after, expect } => {
                self.append_from(&head, messages, &Start { after, expect }).await.map(Response::Nodes)
            }
            Request::GetRange { head, start, end } => self.get_range(&head, start, end).await.map(Response::Messages),
            Request::GetCount { head } => self.get_count(&head).await.map(Response::Number),
            Request::Transcripts => self.transcripts().await.map(Response::Transcripts),
            Request::Rename { transcript, title } => self.rename(&transcript, title).await.map(|()| Response::Done),
            Request::Choose { leaf } => self.choose(&leaf).await.map(|()| Response::Done),
            Request::Stats => self.stats().await.map(Response::Stats),
            Request::Lint { leaf } => self.lint(leaf.as_ref()).await.map(Response::Lint),
            Request::Outline { transcript, leaf } => {
                self.outline(&transcript, leaf.as_ref()).await.map(|outline| Response::Outline(Box::new(outline)))
            }
            Request::Rows { leaf, start, end } => self.rows(&leaf, start, end).await.map(Response::Nodes),
            Request::Tree { transcript } => self.tree(&transcript).await.map(Response::Tree),
            other => return Err(other),
        })
    }

    /// Answers a request that deletes, mends, undoes or looks at what was undone. One of [`Keep::talk`] is a bad request here.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was stored then.
    pub async fn manage(&self, request: Request) -> Result<Response, KeepError> {
        match request {
            Request::Undo { head } => self.undo(&head).await.map(Response::Undone),
            Request::History { id } => self.history(&id).await.map(Response::Nodes),
            Request::Clear { head } => self.clear(&head).await.map(Response::Number),
            Request::Expire => self.expire().await.map(Response::Heads),
            Request::DeleteBranch { node } => self.delete_branch(&node).await.map(Response::Number),
            Request::DeleteTranscript { transcript } => self.delete_transcript(&transcript).await.map(Response::Number),
            Request::Mend { leaf } => self.mend(&leaf).await.map(|node| Response::MaybeNode(node.map(Box::new))),
            Request::DeleteAll => self.delete_all().await.map(|()| Response::Done),
            _ => Err(KeepError::BadRequest("this request is one that Keep::talk answers".to_owned())),
        }
    }

    /// Answers one request for a prompt.
    ///
    /// # Errors
    /// [`KeepError`].
    pub async fn prompt(&self, request: PromptRequest) -> Result<Response, KeepError> {
        match request {
            PromptRequest::GetRecent { head, options } => {
                self.get_recent(&head, &options).await.map(Response::Messages)
            }
            PromptRequest::Context { at, options } => {
                Ok(Response::Context(self.context_of(&at, *options).await?.to_json()))
            }
            PromptRequest::Fit { at, options, what_if } => {
                let options = self.options_at(&at, *options).await?;
                Ok(Response::Fit(self.fit(&at, &options, what_if).await?.to_json()))
            }
            PromptRequest::ToolResult { at, path } => {
                Ok(Response::Messages(self.tool_result(&at, &path).await?.into_iter().collect()))
            }
        }
    }
}
